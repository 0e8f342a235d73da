// Thrust's vectors: of the host, and of the device.
#pragma once

#include <warploom/libraries/thrust_selections.h>

#include <initializer_list>

namespace thrust {

template <class _WT, class = void>
class device_vector;

template <class _WT, class = void>
class host_vector : public std::vector<_WT> {
 public:
  using std::vector<_WT>::vector;
  host_vector() = default;
  host_vector(const std::vector<_WT>& other) : std::vector<_WT>(other) {}
  template <class Other>
  host_vector(const device_vector<Other>& other) {
    *this = other;
  }
  template <class Other>
  host_vector& operator=(const device_vector<Other>& other) {
    this->resize(other.size());
    thrust::copy(other.begin(), other.end(), this->begin());
    return *this;
  }
};

template <class _WT, class>
class device_vector {
 public:
  using value_type = _WT;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = device_ptr<_WT>;
  using const_pointer = device_ptr<const _WT>;
  using reference = device_reference<_WT>;
  using const_reference = device_reference<const _WT>;
  using iterator = device_ptr<_WT>;
  using const_iterator = device_ptr<const _WT>;

  device_vector() = default;
  explicit device_vector(size_type n) { resize(n); }
  device_vector(size_type n, const _WT& value) { resize(n, value); }
  template <class In>
    requires(!std::is_integral_v<In>)
  device_vector(In first, In last) {
    assign(first, last);
  }
  device_vector(std::initializer_list<_WT> values) { assign(values.begin(), values.end()); }
  device_vector(const device_vector& other) { assign(other.begin(), other.end()); }
  device_vector(device_vector&& other) noexcept { swap(other); }
  template <class Other>
  device_vector(const std::vector<Other>& other) {
    assign(other.begin(), other.end());
  }
  template <class Other>
  device_vector(const device_vector<Other>& other) {
    assign(other.begin(), other.end());
  }
  ~device_vector() { cudaFree(at_); }

  device_vector& operator=(const device_vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  device_vector& operator=(device_vector&& other) noexcept {
    swap(other);
    return *this;
  }
  template <class Other>
  device_vector& operator=(const std::vector<Other>& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  template <class In>
    requires(!std::is_integral_v<In>)
  void assign(In first, In last) {
    size_ = 0;
    const auto n = static_cast<size_type>(std::distance(first, last));
    reserve(n);
    size_ = n;
    thrust::copy(first, last, begin());
  }
  void assign(size_type n, const _WT& value) {
    size_ = 0;
    resize(n, value);
  }

  void reserve(size_type n) {
    if (n <= capacity_) return;
    _WT* larger = nullptr;
    if (cudaMalloc(&larger, n * sizeof(_WT)) != cudaSuccess) throw std::bad_alloc();
    if (size_) thrust::copy(begin(), end(), iterator(larger));
    cudaFree(at_);
    at_ = larger;
    capacity_ = n;
  }
  void resize(size_type n, const _WT& value = _WT{}) {
    if (n > capacity_) reserve(size_ && n < 2 * size_ ? 2 * size_ : n);
    const size_type old = size_;
    size_ = n;
    if (n > old) thrust::fill(begin() + static_cast<difference_type>(old), end(), value);
  }
  void push_back(const _WT& value) { resize(size_ + 1, value); }
  void pop_back() { size_--; }
  void clear() { size_ = 0; }
  void shrink_to_fit() {
    device_vector exact(begin(), end());
    swap(exact);
  }
  iterator erase(iterator first, iterator last) {
    const auto behind = static_cast<size_type>(end() - last);
    device_vector rest(last, end());
    thrust::copy(rest.begin(), rest.end(), first);
    size_ = static_cast<size_type>(first - begin()) + behind;
    return first;
  }
  iterator erase(iterator at) { return erase(at, at + 1); }
  void swap(device_vector& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  size_type size() const { return size_; }
  size_type capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  pointer data() { return pointer(at_); }
  const_pointer data() const { return const_pointer(at_); }
  iterator begin() { return iterator(at_); }
  iterator end() { return iterator(at_ + size_); }
  const_iterator begin() const { return const_iterator(at_); }
  const_iterator end() const { return const_iterator(at_ + size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reference operator[](size_type i) { return reference(at_ + i); }
  const_reference operator[](size_type i) const { return const_reference(at_ + i); }
  reference front() { return (*this)[0]; }
  reference back() { return (*this)[size_ - 1]; }
  const_reference front() const { return (*this)[0]; }
  const_reference back() const { return (*this)[size_ - 1]; }
  friend bool operator==(const device_vector& a, const device_vector& b) {
    return a.size() == b.size() && thrust::equal(a.begin(), a.end(), b.begin());
  }

 private:
  _WT* at_ = nullptr;
  size_type size_ = 0, capacity_ = 0;
};

template <class _WT>
void swap(device_vector<_WT>& a, device_vector<_WT>& b) noexcept {
  a.swap(b);
}

}  // namespace thrust
