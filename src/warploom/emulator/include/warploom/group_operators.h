// What groups combine values with: cooperative_groups::plus and its like.
#pragma once

namespace cooperative_groups {

template <class _WT = void>
struct plus {
  _WT operator()(_WT _Wa, _WT _Wb) const { return _Wa + _Wb; }
};
template <class _WT = void>
struct less {
  _WT operator()(_WT _Wa, _WT _Wb) const { return _Wb < _Wa ? _Wb : _Wa; }
};
template <class _WT = void>
struct greater {
  _WT operator()(_WT _Wa, _WT _Wb) const { return _Wa < _Wb ? _Wb : _Wa; }
};
template <class _WT = void>
struct bit_and {
  _WT operator()(_WT _Wa, _WT _Wb) const { return _Wa & _Wb; }
};
template <class _WT = void>
struct bit_or {
  _WT operator()(_WT _Wa, _WT _Wb) const { return _Wa | _Wb; }
};
template <class _WT = void>
struct bit_xor {
  _WT operator()(_WT _Wa, _WT _Wb) const { return _Wa ^ _Wb; }
};
#define WARPLOOM_ANY_TYPE(name, expression)  \
  template <>                                \
  struct name<void> {                        \
    template <class _WT>                     \
    _WT operator()(_WT _Wa, _WT _Wb) const { \
      return expression;                     \
    }                                        \
  };
WARPLOOM_ANY_TYPE(plus, _Wa + _Wb)
WARPLOOM_ANY_TYPE(less, _Wb < _Wa ? _Wb : _Wa)
WARPLOOM_ANY_TYPE(greater, _Wa < _Wb ? _Wb : _Wa)
WARPLOOM_ANY_TYPE(bit_and, _Wa& _Wb)
WARPLOOM_ANY_TYPE(bit_or, _Wa | _Wb)
WARPLOOM_ANY_TYPE(bit_xor, _Wa ^ _Wb)
#undef WARPLOOM_ANY_TYPE

}  // namespace cooperative_groups
