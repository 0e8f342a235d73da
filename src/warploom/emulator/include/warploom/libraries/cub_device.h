// CUB's algorithms of a whole device. The first call, without temporary storage, says how much is
// needed; the second one does the work on its stream, in that storage.
#pragma once

#include <warploom/libraries/cub_iterators.h>
#include <warploom/libraries/device_sorts.h>

#include <limits>

namespace warploom::libraries {

template <class Iterator>
using ValueOf = std::decay_t<decltype(*std::declval<Iterator&>())>;
template <class Op, class Initial, class In>
using SumOf = std::decay_t<std::invoke_result_t<Op, Initial, In>>;

// Whether this is the call that only asks; if not, whether there is enough.
inline bool only_asks(void* temp, std::size_t& bytes, std::size_t needed, cudaError_t& error) {
  if (!needed) needed = 1;
  error = cudaSuccess;
  if (!temp) {
    bytes = needed;
    return true;
  }
  if (bytes < needed) error = cudaErrorInvalidValue;
  return error != cudaSuccess;
}

template <class Acc, class In, class Out, class Op>
cudaError_t cub_reduce(const char* name, void* temp, std::size_t& bytes, In in, Out out,
                       long long n, Op op, Acc initial, cudaStream_t stream) {
  cudaError_t error;
  if (only_asks(temp, bytes, reduce_bytes<Acc>(n), error)) return error;
  return reduce_into<Acc>(
      name, stream, temp, n, [in](long long i) { return in[i]; }, op, initial, true, out);
}
template <class Acc, class In, class Out, class Op>
cudaError_t cub_scan(const char* name, void* temp, std::size_t& bytes, In in, Out out, Op op,
                     Acc initial, bool seeded, bool inclusive, long long n, cudaStream_t stream) {
  cudaError_t error;
  if (only_asks(temp, bytes, scan_bytes<Acc>(n), error)) return error;
  return scan_into<Acc>(
      name, stream, temp, n, [in](long long i) { return static_cast<Acc>(in[i]); }, op, initial,
      seeded, inclusive, [out](long long i, const Acc& value) { out[i] = value; });
}

}  // namespace warploom::libraries

namespace cub {

struct DeviceReduce {
  template <class In, class Out, class Op, class Init, class Count>
  static cudaError_t Reduce(void* temp, std::size_t& bytes, In in, Out out, Count n, Op op,
                            Init initial, cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    using Acc = warploom::libraries::SumOf<Op, Init, Value>;
    return warploom::libraries::cub_reduce<Acc>("DeviceReduce::Reduce", temp, bytes, in, out, n, op,
                                                static_cast<Acc>(initial), stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t Sum(void* temp, std::size_t& bytes, In in, Out out, Count n,
                         cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    using Acc = warploom::libraries::SumOf<cub::Sum, Value, Value>;
    return warploom::libraries::cub_reduce<Acc>("DeviceReduce::Sum", temp, bytes, in, out, n,
                                                cub::Sum(), Acc{}, stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t Min(void* temp, std::size_t& bytes, In in, Out out, Count n,
                         cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    return warploom::libraries::cub_reduce<Value>("DeviceReduce::Min", temp, bytes, in, out, n,
                                                  ::cuda::minimum<Value>(),
                                                  std::numeric_limits<Value>::max(), stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t Max(void* temp, std::size_t& bytes, In in, Out out, Count n,
                         cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    return warploom::libraries::cub_reduce<Value>("DeviceReduce::Max", temp, bytes, in, out, n,
                                                  ::cuda::maximum<Value>(),
                                                  std::numeric_limits<Value>::lowest(), stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t ArgMin(void* temp, std::size_t& bytes, In in, Out out, Count n,
                            cudaStream_t stream = nullptr) {
    using Pair = KeyValuePair<int, warploom::libraries::ValueOf<In>>;
    return warploom::libraries::cub_reduce<Pair>(
        "DeviceReduce::ArgMin", temp, bytes, ArgIndexInputIterator<In>(in), out, n, cub::ArgMin(),
        Pair{1, std::numeric_limits<decltype(Pair::value)>::max()}, stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t ArgMax(void* temp, std::size_t& bytes, In in, Out out, Count n,
                            cudaStream_t stream = nullptr) {
    using Pair = KeyValuePair<int, warploom::libraries::ValueOf<In>>;
    return warploom::libraries::cub_reduce<Pair>(
        "DeviceReduce::ArgMax", temp, bytes, ArgIndexInputIterator<In>(in), out, n, cub::ArgMax(),
        Pair{1, std::numeric_limits<decltype(Pair::value)>::lowest()}, stream);
  }
  template <class In, class Out, class Count, class Op, class Transform, class Init>
  static cudaError_t TransformReduce(void* temp, std::size_t& bytes, In in, Out out, Count n, Op op,
                                     Transform transform, Init initial,
                                     cudaStream_t stream = nullptr) {
    using Value = std::decay_t<decltype(transform(*in))>;
    TransformInputIterator<Value, Transform, In> changed(in, transform);
    return warploom::libraries::cub_reduce<warploom::libraries::SumOf<Op, Init, Value>>(
        "DeviceReduce::TransformReduce", temp, bytes, changed, out, n, op, initial, stream);
  }
};

struct DeviceScan {
  template <class In, class Out, class Count>
    requires std::is_integral_v<Count>
  static cudaError_t ExclusiveSum(void* temp, std::size_t& bytes, In in, Out out, Count n,
                                  cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    using Acc = warploom::libraries::SumOf<cub::Sum, Value, Value>;
    return warploom::libraries::cub_scan<Acc>("DeviceScan::ExclusiveSum", temp, bytes, in, out,
                                              cub::Sum(), Acc{}, true, false, n, stream);
  }
  template <class In, class Out, class Count>
    requires std::is_integral_v<Count>
  static cudaError_t InclusiveSum(void* temp, std::size_t& bytes, In in, Out out, Count n,
                                  cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    using Acc = warploom::libraries::SumOf<cub::Sum, Value, Value>;
    return warploom::libraries::cub_scan<Acc>("DeviceScan::InclusiveSum", temp, bytes, in, out,
                                              cub::Sum(), Acc{}, false, true, n, stream);
  }
  template <class In, class Out, class Op, class Init, class Count>
  static cudaError_t ExclusiveScan(void* temp, std::size_t& bytes, In in, Out out, Op op,
                                   Init initial, Count n, cudaStream_t stream = nullptr) {
    using Acc = warploom::libraries::SumOf<Op, Init, warploom::libraries::ValueOf<In>>;
    return warploom::libraries::cub_scan<Acc>("DeviceScan::ExclusiveScan", temp, bytes, in, out, op,
                                              static_cast<Acc>(initial), true, false, n, stream);
  }
  template <class In, class Out, class Op, class Count>
  static cudaError_t InclusiveScan(void* temp, std::size_t& bytes, In in, Out out, Op op, Count n,
                                   cudaStream_t stream = nullptr) {
    using Value = warploom::libraries::ValueOf<In>;
    using Acc = warploom::libraries::SumOf<Op, Value, Value>;
    return warploom::libraries::cub_scan<Acc>("DeviceScan::InclusiveScan", temp, bytes, in, out, op,
                                              Acc{}, false, true, n, stream);
  }
  // In place
  template <class Data, class Count>
    requires std::is_integral_v<Count>
  static cudaError_t ExclusiveSum(void* temp, std::size_t& bytes, Data data, Count n,
                                  cudaStream_t stream = nullptr) {
    return ExclusiveSum(temp, bytes, data, data, n, stream);
  }
  template <class Data, class Count>
    requires std::is_integral_v<Count>
  static cudaError_t InclusiveSum(void* temp, std::size_t& bytes, Data data, Count n,
                                  cudaStream_t stream = nullptr) {
    return InclusiveSum(temp, bytes, data, data, n, stream);
  }
};

struct DeviceSelect {
  template <class In, class Out, class Chosen, class Count, class Predicate>
  static cudaError_t If(void* temp, std::size_t& bytes, In in, Out out, Chosen chosen, Count n,
                        Predicate predicate, cudaStream_t stream = nullptr) {
    return select("DeviceSelect::If", temp, bytes, in, out, chosen, n, stream,
                  [in, predicate](long long i) { return static_cast<bool>(predicate(in[i])); });
  }
  template <class In, class Flags, class Out, class Chosen, class Count>
  static cudaError_t Flagged(void* temp, std::size_t& bytes, In in, Flags flags, Out out,
                             Chosen chosen, Count n, cudaStream_t stream = nullptr) {
    return select("DeviceSelect::Flagged", temp, bytes, in, out, chosen, n, stream,
                  [flags](long long i) { return static_cast<bool>(flags[i]); });
  }
  template <class In, class Out, class Chosen, class Count>
  static cudaError_t Unique(void* temp, std::size_t& bytes, In in, Out out, Chosen chosen, Count n,
                            cudaStream_t stream = nullptr) {
    return select("DeviceSelect::Unique", temp, bytes, in, out, chosen, n, stream,
                  [in](long long i) { return i == 0 || !(in[i] == in[i - 1]); });
  }

 private:
  template <class In, class Out, class Chosen, class Flag>
  static cudaError_t select(const char* name, void* temp, std::size_t& bytes, In in, Out out,
                            Chosen chosen, long long n, cudaStream_t stream, Flag flag) {
    cudaError_t error;
    if (warploom::libraries::only_asks(temp, bytes, warploom::libraries::select_bytes(n), error))
      return error;
    return warploom::libraries::select_into(
        name, stream, temp, n, flag,
        [in, out](long long i, bool is_chosen, long long place) {
          if (is_chosen) out[place] = in[i];
        },
        chosen);
  }
};

struct DevicePartition {
  template <class In, class Out, class Chosen, class Count, class Predicate>
  static cudaError_t If(void* temp, std::size_t& bytes, In in, Out out, Chosen chosen, Count n,
                        Predicate predicate, cudaStream_t stream = nullptr) {
    cudaError_t error;
    if (warploom::libraries::only_asks(temp, bytes, warploom::libraries::select_bytes(n), error))
      return error;
    const long long all = n;
    // The others lie at the end, in reverse.
    return warploom::libraries::select_into(
        "DevicePartition::If", stream, temp, all,
        [in, predicate](long long i) { return static_cast<bool>(predicate(in[i])); },
        [in, out, all](long long i, bool is_chosen, long long place) {
          out[is_chosen ? place : all - 1 - place] = in[i];
        },
        chosen);
  }
};

// Two buffers that take turns; a sort says in which one its result lies.
template <class _WT>
struct DoubleBuffer {
  _WT* d_buffers[2] = {nullptr, nullptr};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(_WT* current, _WT* alternate) : d_buffers{current, alternate} {}
  _WT* Current() { return d_buffers[selector]; }
  _WT* Alternate() { return d_buffers[selector ^ 1]; }
};

struct DeviceRadixSort {
#define WARPLOOM_RADIX(keys_name, pairs_name, descending)                                        \
  template <class Key, class Count>                                                              \
  static cudaError_t keys_name(void* temp, std::size_t& bytes, const Key* in, Key* out, Count n, \
                               int begin = 0, int end = 8 * sizeof(Key),                         \
                               cudaStream_t stream = nullptr) {                                  \
    return sort<Key, NullType>("DeviceRadixSort::" #keys_name, temp, bytes, in, out, nullptr,    \
                               nullptr, n, begin, end, stream, descending);                      \
  }                                                                                              \
  template <class Key, class Value, class Count>                                                 \
  static cudaError_t pairs_name(void* temp, std::size_t& bytes, const Key* in, Key* out,         \
                                const Value* values, Value* values_out, Count n, int begin = 0,  \
                                int end = 8 * sizeof(Key), cudaStream_t stream = nullptr) {      \
    return sort<Key, Value>("DeviceRadixSort::" #pairs_name, temp, bytes, in, out, values,       \
                            values_out, n, begin, end, stream, descending);                      \
  }                                                                                              \
  template <class Key, class Count>                                                              \
  static cudaError_t keys_name(void* temp, std::size_t& bytes, DoubleBuffer<Key>& keys, Count n, \
                               int begin = 0, int end = 8 * sizeof(Key),                         \
                               cudaStream_t stream = nullptr) {                                  \
    DoubleBuffer<NullType> none;                                                                 \
    return turns("DeviceRadixSort::" #keys_name, temp, bytes, keys, none, n, begin, end, stream, \
                 descending);                                                                    \
  }                                                                                              \
  template <class Key, class Value, class Count>                                                 \
  static cudaError_t pairs_name(void* temp, std::size_t& bytes, DoubleBuffer<Key>& keys,         \
                                DoubleBuffer<Value>& values, Count n, int begin = 0,             \
                                int end = 8 * sizeof(Key), cudaStream_t stream = nullptr) {      \
    return turns("DeviceRadixSort::" #pairs_name, temp, bytes, keys, values, n, begin, end,      \
                 stream, descending);                                                            \
  }
  WARPLOOM_RADIX(SortKeys, SortPairs, false)
  WARPLOOM_RADIX(SortKeysDescending, SortPairsDescending, true)
#undef WARPLOOM_RADIX

 private:
  template <class Key, class Value>
  static cudaError_t sort(const char* name, void* temp, std::size_t& bytes, const Key* in, Key* out,
                          const Value* values, Value* values_out, long long n, int begin, int end,
                          cudaStream_t stream, bool descending) {
    using namespace warploom::libraries;
    cudaError_t error;
    if (only_asks(temp, bytes, radix_bytes<Key, Value>(n, true), error)) return error;
    char* spare = static_cast<char*>(temp) + digit_bytes(n);
    const std::size_t keys = aligned_bytes(static_cast<std::size_t>(n) * sizeof(Key));
    return radix_sort<Key, Value>(
        name, stream, temp, n,
        {const_cast<Key*>(in), out, reinterpret_cast<Key*>(spare), const_cast<Value*>(values),
         values_out, reinterpret_cast<Value*>(spare + keys)},
        begin, end, descending);
  }
  template <class Key, class Value>
  static cudaError_t turns(const char* name, void* temp, std::size_t& bytes,
                           DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values, long long n,
                           int begin, int end, cudaStream_t stream, bool descending) {
    using namespace warploom::libraries;
    cudaError_t error;
    if (only_asks(temp, bytes, radix_bytes<Key, Value>(n, false), error)) return error;
    error = radix_sort<Key, Value>(
        name, stream, temp, n,
        {keys.Current(), keys.Alternate(), nullptr, values.Current(), values.Alternate(), nullptr},
        begin, end, descending);
    if (radix_passes(begin, end) % 2) {
      keys.selector ^= 1;
      values.selector ^= 1;
    }
    return error;
  }
};

struct DeviceMergeSort {
  template <class Key, class Count, class Less>
  static cudaError_t SortKeys(void* temp, std::size_t& bytes, Key* keys, Count n, Less less,
                              cudaStream_t stream = nullptr) {
    return sort<Key, NullType>("DeviceMergeSort::SortKeys", temp, bytes, keys, nullptr, n, less,
                               stream);
  }
  template <class Key, class Count, class Less>
  static cudaError_t StableSortKeys(void* temp, std::size_t& bytes, Key* keys, Count n, Less less,
                                    cudaStream_t stream = nullptr) {
    return SortKeys(temp, bytes, keys, n, less, stream);
  }
  template <class Key, class Value, class Count, class Less>
  static cudaError_t SortPairs(void* temp, std::size_t& bytes, Key* keys, Value* values, Count n,
                               Less less, cudaStream_t stream = nullptr) {
    return sort<Key, Value>("DeviceMergeSort::SortPairs", temp, bytes, keys, values, n, less,
                            stream);
  }

 private:
  template <class Key, class Value, class Less>
  static cudaError_t sort(const char* name, void* temp, std::size_t& bytes, Key* keys,
                          Value* values, long long n, Less less, cudaStream_t stream) {
    using namespace warploom::libraries;
    const auto count = static_cast<std::size_t>(n > 0 ? n : 1);
    const std::size_t of_keys = aligned_bytes(count * sizeof(Key));
    cudaError_t error;
    if (only_asks(temp, bytes, of_keys + aligned_bytes(count * sizeof(Value)), error)) return error;
    char* spare = static_cast<char*>(temp);
    return merge_sort<Key, Value>(name, stream, n,
                                  {keys, reinterpret_cast<Key*>(spare), nullptr, values,
                                   reinterpret_cast<Value*>(spare + of_keys), nullptr},
                                  less);
  }
};

struct DeviceHistogram {
  // `levels` - 1 bins of one width; samples out of the range are in none.
  template <class In, class Counter, class Level, class Count>
  static cudaError_t HistogramEven(void* temp, std::size_t& bytes, In samples, Counter* histogram,
                                   int levels, Level lower, Level upper, Count n,
                                   cudaStream_t stream = nullptr) {
    cudaError_t error;
    if (warploom::libraries::only_asks(temp, bytes, 1, error)) return error;
    const int bins = levels - 1;
    return count_bins("DeviceHistogram::HistogramEven", histogram, bins, n, stream,
                      [=](long long i) {
                        const auto sample = static_cast<Level>(samples[i]);
                        if (sample < lower || sample >= upper) return -1;
                        if constexpr (std::is_integral_v<Level>) {
                          return static_cast<int>(static_cast<long long>(sample - lower) * bins /
                                                  (upper - lower));
                        } else {
                          return static_cast<int>((sample - lower) / ((upper - lower) / bins));
                        }
                      });
  }
  template <class In, class Counter, class Level, class Count>
  static cudaError_t HistogramRange(void* temp, std::size_t& bytes, In samples, Counter* histogram,
                                    int levels, const Level* edges, Count n,
                                    cudaStream_t stream = nullptr) {
    cudaError_t error;
    if (warploom::libraries::only_asks(temp, bytes, 1, error)) return error;
    const int bins = levels - 1;
    return count_bins("DeviceHistogram::HistogramRange", histogram, bins, n, stream,
                      [=](long long i) {
                        const auto sample = static_cast<Level>(samples[i]);
                        int bin = -1;
                        while (bin < bins && !(sample < edges[bin + 1])) bin++;
                        return bin < bins ? bin : -1;
                      });
  }

 private:
  template <class Counter, class Bin>
  static cudaError_t count_bins(const char* name, Counter* histogram, int bins, long long n,
                                cudaStream_t stream, Bin bin) {
    using namespace warploom::libraries;
    const cudaError_t error =
        for_each_index(name, stream, bins, [=](long long i) { histogram[i] = Counter{}; });
    if (error != cudaSuccess) return error;
    return for_each_index(name, stream, n, [=](long long i) {
      const int at = bin(i);
      if (at >= 0 && at < bins) atomicAdd(&histogram[at], Counter{1});
    });
  }
};

struct DeviceFor {
  template <class In, class Op>
  static cudaError_t ForEach(In first, In last, Op op, cudaStream_t stream = nullptr) {
    return warploom::libraries::for_each_index("DeviceFor::ForEach", stream, last - first,
                                               [=](long long i) { op(first[i]); });
  }
  template <class Count, class Op>
  static cudaError_t Bulk(Count n, Op op, cudaStream_t stream = nullptr) {
    return warploom::libraries::for_each_index("DeviceFor::Bulk", stream, n,
                                               [=](long long i) { op(static_cast<Count>(i)); });
  }
};

}  // namespace cub
