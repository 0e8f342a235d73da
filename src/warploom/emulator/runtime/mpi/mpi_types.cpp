// Derived data types: which bytes of the program's memory an element has.
#include <algorithm>

#include "memory/sides.h"
#include "mpi/mpi_objects.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

struct Part {
  std::ptrdiff_t offset;
  std::size_t bytes;
};

// Of one element: its bytes in the order of the definition, and how far the next one is.
struct Layout {
  std::vector<Part> parts;
  std::ptrdiff_t low = 0, extent = 0;

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Part& part : parts) sum += part.bytes;
    return sum;
  }
  bool dense() const {
    return parts.size() <= 1 && low == 0 && extent == static_cast<std::ptrdiff_t>(bytes());
  }
  void add(const Layout& element, std::ptrdiff_t at) {
    for (const Part& part : element.parts) {
      if (!parts.empty() && parts.back().offset + static_cast<std::ptrdiff_t>(parts.back().bytes) ==
                                at + part.offset) {
        parts.back().bytes += part.bytes;
      } else {
        parts.push_back({at + part.offset, part.bytes});
      }
    }
  }
  // A run of `count` elements from `at` on.
  void add_run(const Layout& element, int count, std::ptrdiff_t at) {
    for (int i = 0; i < count; i++) add(element, at + i * element.extent);
  }
  // From the first byte to the last, as MPI has it where nothing resizes a type.
  void close() {
    if (parts.empty()) return;
    low = parts.front().offset;
    std::ptrdiff_t high = low;
    for (const Part& part : parts) {
      low = std::min(low, part.offset);
      high = std::max(high, part.offset + static_cast<std::ptrdiff_t>(part.bytes));
    }
    extent = high - low;
  }
};

struct Derived {
  Layout layout;
  MPI_Datatype base;  // MPI_BYTE where its elements are of several types
  bool freed = false;
  bool committed = false;
};
std::vector<Derived> g_derived;

Derived* derived(MPI_Datatype type) {
  const int index = number_of(type, kTypes) - kBuiltIn;
  if (index < 0 || index >= static_cast<int>(g_derived.size())) return nullptr;
  return &g_derived[static_cast<std::size_t>(index)];
}

// Also of a type that was freed while a message of it was under way.
Layout layout_of(MPI_Datatype type) {
  if (const Derived* found = derived(type)) return found->layout;
  const std::size_t bytes = built_in_bytes(type);
  return {{{0, bytes}}, 0, static_cast<std::ptrdiff_t>(bytes)};
}

Layout known_layout(MPI_Datatype type, const char* what) {
  type_bytes(type, what);
  return layout_of(type);
}

int make(Layout layout, MPI_Datatype base, MPI_Datatype* out, const char* what) {
  require(out != nullptr, what, "the result's address must not be NULL");
  g_derived.push_back({std::move(layout), base});
  *out = kTypes + kBuiltIn + static_cast<int>(g_derived.size()) - 1;
  return MPI_SUCCESS;
}

int make_vector(int count, int length, std::ptrdiff_t stride, const Layout& element,
                MPI_Datatype base, MPI_Datatype* out, const char* what) {
  require(count >= 0 && length >= 0, what, "the counts must not be negative");
  Layout layout;
  for (int i = 0; i < count; i++) layout.add_run(element, length, i * stride);
  layout.close();
  return make(std::move(layout), base, out, what);
}

// The rows of a block inside of an array, the last dimension running fastest.
void add_block(Layout& layout, const Layout& element, const std::vector<int>& sizes,
               const std::vector<int>& parts, const std::vector<int>& starts, std::size_t dimension,
               std::ptrdiff_t at) {
  for (int i = 0; i < parts[dimension]; i++) {
    const std::ptrdiff_t place = at * sizes[dimension] + starts[dimension] + i;
    if (dimension + 1 < sizes.size()) {
      add_block(layout, element, sizes, parts, starts, dimension + 1, place);
    } else {
      layout.add(element, place * element.extent);
    }
  }
}

}  // namespace

std::size_t type_bytes(MPI_Datatype type, const char* what) {
  if (const std::size_t bytes = built_in_bytes(type)) return bytes;
  const Derived* found = derived(type);
  require(found && !found->freed, what, "the data type does not exist");
  return found->layout.bytes();
}

void require_committed(MPI_Datatype type, const char* what) {
  const Derived* found = derived(type);
  require(!found || found->committed, what,
          "the data type is not committed: call MPI_Type_commit before it is used to communicate");
}

std::size_t dense_bytes(MPI_Datatype type, const char* what) {
  const std::size_t bytes = type_bytes(type, what);
  if (!layout_of(type).dense()) {
    stop_unsupported(what, format("%s with a data type that has gaps", what));
  }
  return bytes;
}

MPI_Datatype element_type(MPI_Datatype type) {
  while (const Derived* found = derived(type)) type = found->base;
  return type;
}

std::string elements_of(MPI_Datatype type) {
  type = element_type(type);
  if (type == MPI_DATATYPE_NULL || type == MPI_BYTE || type == MPI_PACKED) return "";
  if (type >= MPI_FLOAT_INT) return type_name(type);
  const bool floating = type == MPI_FLOAT || type == MPI_DOUBLE || type == MPI_LONG_DOUBLE;
  return format("%s of %zu bytes", floating ? "floating-point numbers" : "integers",
                built_in_bytes(type));
}

// Elements that are apart are picked up one by one, by the host where they lie on its side.
static void note_pieces(const void* p, std::size_t pieces) {
  if (!on_device_side(p)) g_host_work += 2 * pieces;
}

Bytes gather_elements(const void* p, int count, MPI_Datatype type, const char* what) {
  const Layout layout = layout_of(type);
  if (layout.dense()) return read_buffer(p, packed(count, type, what), what);
  Bytes all;
  note_pieces(p, static_cast<std::size_t>(count) * layout.parts.size());
  for (int i = 0; i < count; i++) {
    for (const Part& part : layout.parts) {
      const auto offset = static_cast<std::size_t>(i * layout.extent + part.offset);
      const Bytes bytes = read_buffer(at(p, offset), part.bytes, what);
      all.append(bytes);
    }
  }
  return all;
}

std::vector<Piece> pieces_of(int count, MPI_Datatype type, const char* what) {
  const Layout layout = layout_of(type);
  if (layout.dense()) return {{0, packed(count, type, what)}};
  std::vector<Piece> pieces;
  for (int i = 0; i < count; i++) {
    for (const Part& part : layout.parts) {
      pieces.push_back({static_cast<std::size_t>(i * layout.extent + part.offset), part.bytes});
    }
  }
  return pieces;
}

// "A derived datatype that specifies overlapping entries" is for sends (MPI 3.1, 4.1.11).
static void check_apart(const Layout& layout, const void* p, const char* what) {
  std::vector<Used> parts;
  for (const Part& part : layout.parts) {
    parts.push_back({at(p, static_cast<std::size_t>(part.offset)), part.bytes});
  }
  if (lie_apart(std::move(parts))) return;
  fail(kinds::overlapping_buffers,
       format("%s: two entries of the type that is received are one place", what),
       "receive with a type whose entries lie apart");
}

void scatter_elements(const Place& place, void* p, const Bytes& data, const char* what) {
  const Layout layout = layout_of(place.type);
  if (layout.dense()) return write_buffer(place, p, data.data(), data.size(), data.origin, what);
  check_apart(layout, p, what);
  std::size_t done = 0;
  for (int i = 0; done < data.size(); i++) {
    note_pieces(p, layout.parts.size());
    for (const Part& part : layout.parts) {
      const std::size_t bytes = std::min(part.bytes, data.size() - done);
      const auto offset = static_cast<std::size_t>(i * layout.extent + part.offset);
      store_buffer(at(p, offset), data.data() + done, bytes, data.origin, what);
      done += bytes;
    }
  }
  tell_arrival(place, p, data.data(), data.size(), data.origin);
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Type_contiguous(int count, MPI_Datatype base, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_contiguous";
  return make_vector(1, count, 0, known_layout(base, kName), base, out, kName);
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype base, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_vector";
  const Layout element = known_layout(base, kName);
  return make_vector(count, length, stride * element.extent, element, base, out, kName);
}

int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype base,
                            MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_create_hvector";
  return make_vector(count, length, stride, known_layout(base, kName), base, out, kName);
}

int MPI_Type_indexed(int count, const int* lengths, const int* displacements, MPI_Datatype base,
                     MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_indexed";
  require(count >= 0, kName, "the count must not be negative");
  const Layout element = known_layout(base, kName);
  Layout layout;
  for (int i = 0; i < count; i++) {
    layout.add_run(element, lengths[i], displacements[i] * element.extent);
  }
  layout.close();
  return make(std::move(layout), base, out, kName);
}

int MPI_Type_create_hindexed(int count, const int* lengths, const MPI_Aint* displacements,
                             MPI_Datatype base, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_create_hindexed";
  require(count >= 0, kName, "the count must not be negative");
  const Layout element = known_layout(base, kName);
  Layout layout;
  for (int i = 0; i < count; i++) layout.add_run(element, lengths[i], displacements[i]);
  layout.close();
  return make(std::move(layout), base, out, kName);
}

int MPI_Type_create_indexed_block(int count, int length, const int* displacements,
                                  MPI_Datatype base, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_create_indexed_block";
  require(count >= 0, kName, "the count must not be negative");
  const Layout element = known_layout(base, kName);
  Layout layout;
  for (int i = 0; i < count; i++) {
    layout.add_run(element, length, displacements[i] * element.extent);
  }
  layout.close();
  return make(std::move(layout), base, out, kName);
}

int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                           const MPI_Datatype* types, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_create_struct";
  require(count >= 0, kName, "the count must not be negative");
  Layout layout;
  for (int i = 0; i < count; i++) {
    layout.add_run(known_layout(types[i], kName), lengths[i], displacements[i]);
  }
  layout.close();
  // C aligns the next element; the data says how, as far as types of one to eight bytes do.
  std::ptrdiff_t align = 1;
  for (int i = 0; i < count; i++) {
    align = std::max(align, std::min<std::ptrdiff_t>(8, layout_of(types[i]).extent));
  }
  layout.extent = (layout.extent + align - 1) / align * align;
  return make(std::move(layout), MPI_BYTE, out, kName);
}

int MPI_Type_create_subarray(int dimensions, const int* sizes, const int* parts, const int* starts,
                             int order, MPI_Datatype base, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_create_subarray";
  require(dimensions > 0, kName, "there must be a dimension");
  require(order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN, kName, "the order is unknown");
  std::vector<int> all(sizes, sizes + dimensions), some(parts, parts + dimensions),
      first(starts, starts + dimensions);
  if (order == MPI_ORDER_FORTRAN) {
    for (auto* list : {&all, &some, &first}) std::reverse(list->begin(), list->end());
  }
  std::ptrdiff_t elements = 1;
  for (std::size_t i = 0; i < all.size(); i++) {
    require(some[i] > 0 && first[i] >= 0 && first[i] + some[i] <= all[i], kName,
            "the block must lie inside of the array");
    elements *= all[i];
  }
  const Layout element = known_layout(base, kName);
  Layout layout;
  add_block(layout, element, all, some, first, 0, 0);
  layout.extent = elements * element.extent;  // of the whole array
  return make(std::move(layout), base, out, kName);
}

int MPI_Type_create_resized(MPI_Datatype base, MPI_Aint low, MPI_Aint extent, MPI_Datatype* out) {
  constexpr const char* kName = "MPI_Type_create_resized";
  Layout layout = known_layout(base, kName);
  layout.low = low;
  layout.extent = extent;
  return make(std::move(layout), base, out, kName);
}

int MPI_Type_commit(MPI_Datatype* type) {
  type_bytes(*type, "MPI_Type_commit");
  if (Derived* found = derived(*type)) found->committed = true;
  return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype* type) {
  type_bytes(*type, "MPI_Type_free");
  Derived* found = derived(*type);
  require(found != nullptr, "MPI_Type_free", "a built-in type is not freed");
  found->freed = true;
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int MPI_Type_size(MPI_Datatype type, int* size) {
  *size = static_cast<int>(type_bytes(type, "MPI_Type_size"));
  return MPI_SUCCESS;
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* low, MPI_Aint* extent) {
  const Layout layout = known_layout(type, "MPI_Type_get_extent");
  *low = layout.low;
  *extent = layout.extent;
  return MPI_SUCCESS;
}

int MPI_Get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}
// Addresses are plain numbers here; sums that leave the range of one wrap around.
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint distance) {
  return static_cast<MPI_Aint>(static_cast<std::size_t>(base) + static_cast<std::size_t>(distance));
}
MPI_Aint MPI_Aint_diff(MPI_Aint one, MPI_Aint other) {
  return static_cast<MPI_Aint>(static_cast<std::size_t>(one) - static_cast<std::size_t>(other));
}

int MPI_Type_extent(MPI_Datatype type, MPI_Aint* extent) {
  *extent = known_layout(type, "MPI_Type_extent").extent;
  return MPI_SUCCESS;
}

}  // extern "C"
