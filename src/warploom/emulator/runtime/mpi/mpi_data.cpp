// Built-in data types, reductions, and the program's memory as MPI sees it.
#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>

#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/inputs.h"
#include "behavior/iterations.h"
#include "behavior/results.h"
#include "behavior/spoil.h"
#include "host/own_memory.h"
#include "host/process_heap.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "memory/sides.h"
#include "mpi/mpi_objects.h"
#include "order/host_copies.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

template <class T>
struct Located {
  T value;
  int where;
};

struct TypeInfo {
  const char* name;
  std::size_t bytes;
};
const TypeInfo kBuiltInTypes[] = {{"MPI_DATATYPE_NULL", 0},
                                  {"MPI_CHAR", 1},
                                  {"MPI_SIGNED_CHAR", 1},
                                  {"MPI_UNSIGNED_CHAR", 1},
                                  {"MPI_BYTE", 1},
                                  {"MPI_SHORT", sizeof(short)},
                                  {"MPI_UNSIGNED_SHORT", sizeof(short)},
                                  {"MPI_INT", sizeof(int)},
                                  {"MPI_UNSIGNED", sizeof(int)},
                                  {"MPI_LONG", sizeof(long)},
                                  {"MPI_UNSIGNED_LONG", sizeof(long)},
                                  {"MPI_LONG_LONG_INT", sizeof(long long)},
                                  {"MPI_UNSIGNED_LONG_LONG", sizeof(long long)},
                                  {"MPI_FLOAT", sizeof(float)},
                                  {"MPI_DOUBLE", sizeof(double)},
                                  {"MPI_LONG_DOUBLE", sizeof(long double)},
                                  {"MPI_INT8_T", 1},
                                  {"MPI_UINT8_T", 1},
                                  {"MPI_INT16_T", 2},
                                  {"MPI_UINT16_T", 2},
                                  {"MPI_INT32_T", 4},
                                  {"MPI_UINT32_T", 4},
                                  {"MPI_INT64_T", 8},
                                  {"MPI_UINT64_T", 8},
                                  {"MPI_C_BOOL", 1},
                                  {"MPI_AINT", sizeof(MPI_Aint)},
                                  {"MPI_WCHAR", sizeof(wchar_t)},
                                  {"MPI_FLOAT_INT", sizeof(Located<float>)},
                                  {"MPI_DOUBLE_INT", sizeof(Located<double>)},
                                  {"MPI_LONG_INT", sizeof(Located<long>)},
                                  {"MPI_2INT", sizeof(Located<int>)},
                                  {"MPI_PACKED", 1}};
static_assert(std::size(kBuiltInTypes) == kBuiltIn);

template <class T, class Function>
void each(Bytes& into, const Bytes& from, Function&& function) {
  const std::size_t count = into.size() / sizeof(T);
  for (std::size_t i = 0; i < count; i++) {
    T a, b;
    std::memcpy(&a, into.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from.data() + i * sizeof(T), sizeof(T));
    a = static_cast<T>(function(a, b));
    std::memcpy(into.data() + i * sizeof(T), &a, sizeof(T));
  }
}

[[noreturn]] void bad_op(const char* what, MPI_Op op) {
  fail(kinds::mpi_mismatch, format("%s: %s does not work on this type", what, op_name(op)),
       "choose an operation that is defined for the type");
}

template <class T>
void combine_numbers(Bytes& into, const Bytes& from, MPI_Op op, const char* what) {
  switch (op) {
    case MPI_MAX:
      return each<T>(into, from, [](T a, T b) { return a < b ? b : a; });
    case MPI_MIN:
      return each<T>(into, from, [](T a, T b) { return b < a ? b : a; });
    case MPI_SUM:
      return each<T>(into, from, [](T a, T b) { return a + b; });
    case MPI_PROD:
      return each<T>(into, from, [](T a, T b) { return a * b; });
    case MPI_LAND:
      return each<T>(into, from, [](T a, T b) { return a && b; });
    case MPI_LOR:
      return each<T>(into, from, [](T a, T b) { return a || b; });
    case MPI_LXOR:
      return each<T>(into, from, [](T a, T b) { return !a != !b; });
    default:
      break;
  }
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    switch (op) {
      case MPI_BAND:
        return each<T>(into, from, [](T a, T b) { return a & b; });
      case MPI_BOR:
        return each<T>(into, from, [](T a, T b) { return a | b; });
      case MPI_BXOR:
        return each<T>(into, from, [](T a, T b) { return a ^ b; });
      default:
        break;
    }
  }
  bad_op(what, op);
}

// The extreme value and the smallest index that has it.
template <class T>
void combine_located(Bytes& into, const Bytes& from, MPI_Op op, const char* what) {
  if (op != MPI_MAXLOC && op != MPI_MINLOC) bad_op(what, op);
  each<Located<T>>(into, from, [op](Located<T> a, Located<T> b) {
    if (a.value == b.value) return a.where <= b.where ? a : b;
    const bool first = op == MPI_MAXLOC ? a.value > b.value : a.value < b.value;
    return first ? a : b;
  });
}

void combine_pairs(Bytes& into, const Bytes& from, MPI_Datatype type, MPI_Op op, const char* what) {
  switch (type) {
    case MPI_FLOAT_INT:
      return combine_located<float>(into, from, op, what);
    case MPI_DOUBLE_INT:
      return combine_located<double>(into, from, op, what);
    case MPI_LONG_INT:
      return combine_located<long>(into, from, op, what);
    case MPI_2INT:
      return combine_located<int>(into, from, op, what);
    default:
      bad_op(what, op);
  }
}

// Values and where they are, as two results: of two types, and without the gaps between them.
template <class T>
void tell_located(const Place& place, const char* data, std::size_t bytes, const char* elements) {
  std::vector<T> values;
  std::vector<int> places;
  for (std::size_t at = 0; at + sizeof(Located<T>) <= bytes; at += sizeof(Located<T>)) {
    Located<T> pair;
    std::memcpy(&pair, data + at, sizeof pair);
    values.push_back(pair.value);
    places.push_back(pair.where);
  }
  Arrival part = place.call;
  part.elements = elements;
  report_arrival(part, values.data(), values.size() * sizeof(T));
  part.elements = "MPI_INT";
  report_arrival(part, places.data(), places.size() * sizeof(int));
}

}  // namespace

std::size_t built_in_bytes(MPI_Datatype type) {
  const int number = number_of(type, kTypes);
  return number > 0 && number < kBuiltIn ? kBuiltInTypes[number].bytes : 0;
}

const char* type_name(MPI_Datatype type) {
  const int number = type == MPI_DATATYPE_NULL ? 0 : number_of(type, kTypes);
  if (number < 0) return "an unknown type";
  return number < kBuiltIn ? kBuiltInTypes[number].name : "a derived type";
}

const char* op_name(MPI_Op op) {
  static const char* const kNames[] = {"MPI_OP_NULL", "MPI_MAX",     "MPI_MIN",  "MPI_SUM",
                                       "MPI_PROD",    "MPI_LAND",    "MPI_BAND", "MPI_LOR",
                                       "MPI_BOR",     "MPI_LXOR",    "MPI_BXOR", "MPI_MAXLOC",
                                       "MPI_MINLOC",  "MPI_REPLACE", "MPI_NO_OP"};
  const int number = op == MPI_OP_NULL ? 0 : number_of(op, kOps);
  if (number >= kUserOps - kOps) return "an operation of the program";
  return number >= 0 && number < static_cast<int>(std::size(kNames)) ? kNames[number]
                                                                     : "an unknown operation";
}

void combine(Bytes& into, const Bytes& from, MPI_Datatype type, MPI_Op op, const char* what) {
  if (op >= kUserOps) return combine_by_program(into, from, type, op, what);
  switch (type) {
    case MPI_CHAR:
    case MPI_SIGNED_CHAR:
    case MPI_INT8_T:
      return combine_numbers<int8_t>(into, from, op, what);
    case MPI_UNSIGNED_CHAR:
    case MPI_BYTE:
    case MPI_UINT8_T:
      return combine_numbers<uint8_t>(into, from, op, what);
    case MPI_SHORT:
    case MPI_INT16_T:
      return combine_numbers<int16_t>(into, from, op, what);
    case MPI_UNSIGNED_SHORT:
    case MPI_UINT16_T:
      return combine_numbers<uint16_t>(into, from, op, what);
    case MPI_INT:
    case MPI_INT32_T:
      return combine_numbers<int32_t>(into, from, op, what);
    case MPI_UNSIGNED:
    case MPI_UINT32_T:
      return combine_numbers<uint32_t>(into, from, op, what);
    case MPI_LONG:
    case MPI_LONG_LONG_INT:
    case MPI_INT64_T:
    case MPI_AINT:
      return combine_numbers<int64_t>(into, from, op, what);
    case MPI_UNSIGNED_LONG:
    case MPI_UNSIGNED_LONG_LONG:
    case MPI_UINT64_T:
      return combine_numbers<uint64_t>(into, from, op, what);
    case MPI_FLOAT:
      return combine_numbers<float>(into, from, op, what);
    case MPI_DOUBLE:
      return combine_numbers<double>(into, from, op, what);
    case MPI_LONG_DOUBLE:
      return combine_numbers<long double>(into, from, op, what);
    case MPI_C_BOOL:
      return combine_numbers<bool>(into, from, op, what);
    default:
      return combine_pairs(into, from, type, op, what);
  }
}

void leave_rank(const Place& place, Bytes& data) {
  if (place.comm->size() > 1) leave_device(current_host().device, place.type, data);
}

void leave_device(int device, MPI_Datatype type, Bytes& data) {
  if (data.empty()) return;
  if (g_poisoning && (data.origin.computed || passes_results_on(data.size()))) {
    note_communication();
  }
  if (!g_spoiling || type == MPI_DATATYPE_NULL) return;
  const unsigned width = type == MPI_FLOAT ? 4 : type == MPI_DOUBLE ? 8 : 0;
  spoil_message(data.data(), data.size(), device, width);
}

void note_moving(const void* buffer, const char* what, int copies) {
  if (emulated(buffer)) note_call(what);
  // An estimate: MPI reaches a device's memory by copies, as the host's own of 8 bytes take.
  if (on_device_side(buffer))
    host_call(copies * (g_machine.host_copy_ns + g_machine.copy_start_ns));
}

Bytes read_buffer(const void* p, std::size_t bytes, const char* what) {
  if (bytes == 0) return {};
  require(p != nullptr, what, "the buffer is NULL");
  const bool counted = emulated(p);
  if (counted) {
    const Frames where = capture_frames();
    if (!check_range(p, bytes, what, where)) return Bytes(bytes);
    g_host_looked = true;  // or whoever gets it
    access_read(current_actor(where.pc[0]), p, bytes);
  } else if (!check_host_memory(p, bytes, false, what)) {
    return Bytes(bytes);
  } else {
    check_block(p, bytes, what);
    if (host_copies_pending()) check_host_copies(p, bytes, false);
  }
  const char* start = static_cast<const char*>(p);
  Bytes data(start, start + bytes);
  const bool of_device = on_device_side(p);
  data.origin = {.computed = of_device,
                 .uncounted = !counted || !is_carrying(),
                 .hidden = of_device && !host_can_load(p)};
  return data;
}

void store_buffer(void* p, const char* data, std::size_t bytes, const Origin& origin,
                  const char* what) {
  if (bytes == 0) return;
  require(p != nullptr, what, "the buffer is NULL");
  const Delivered delivered(!origin.uncounted);
  if (emulated(p)) {
    const Frames where = capture_frames();
    if (!check_range(p, bytes, what, where)) return;
    access_write(current_actor(where.pc[0]), p, bytes);
  } else if (!check_host_memory(p, bytes, true, what)) {
    return;
  } else {
    check_block(p, bytes, what);
    if (host_copies_pending()) check_host_copies(p, bytes, true);
  }
  g_stats.mpi_bytes += bytes;
  std::memcpy(p, data, bytes);
  if (origin.hidden) note_device_stores(p, bytes);
  if (origin.computed && host_can_load(p)) note_results(bytes, current_rank());
  note_event();
}

void tell_arrival(const Place& place, const void* p, const char* data, std::size_t bytes,
                  const Origin& origin) {
  if (bytes == 0 || !origin.hidden || emulated(p)) return;
  switch (element_type(place.type)) {
    case MPI_FLOAT_INT:
      return tell_located<float>(place, data, bytes, "MPI_FLOAT");
    case MPI_DOUBLE_INT:
      return tell_located<double>(place, data, bytes, "MPI_DOUBLE");
    case MPI_LONG_INT:
      return tell_located<long>(place, data, bytes, "MPI_LONG");
    default:
      return report_arrival(place.call, data, bytes);
  }
}

void write_buffer(const Place& place, void* p, const char* data, std::size_t bytes,
                  const Origin& origin, const char* what) {
  store_buffer(p, data, bytes, origin, what);
  tell_arrival(place, p, data, bytes, origin);
}

}  // namespace warploom::mpi
