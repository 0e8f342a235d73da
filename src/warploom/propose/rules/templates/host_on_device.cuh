// Makes a device the current one for as long as it lives: a process has several.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    if (before_ != device) ok_ = cudaSetDevice(device) == cudaSuccess;
  }
  ~OnDevice() {
    if (ok_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool ok_ = true;
};

