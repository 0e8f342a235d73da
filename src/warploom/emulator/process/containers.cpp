// What the C++ library does to the nodes of std::map, std::set and std::list. Nodes lie in memory
// of the program, which may lead anywhere: here each step of a walk has a hook.
#include <version>

#if defined(__GLIBCXX__)
#include <list>
#include <map>

namespace std {

namespace {

using Node = _Rb_tree_node_base;

// The node that comes next on the side of `near`, where `far` is the other one.
Node* neighbor(Node* node, Node* Node::* near, Node* Node::* far) {
  if (node->*near) {
    node = node->*near;
    while (node->*far) node = node->*far;
    return node;
  }
  Node* above = node->_M_parent;
  while (node == above->*near) {
    node = above;
    above = above->_M_parent;
  }
  // From the last node of a tree whose root has nobody on that side: the header is where it ends.
  return node->*near != above ? above : node;
}

Node* next_of(Node* node) { return neighbor(node, &Node::_M_right, &Node::_M_left); }

Node* previous_of(Node* node) {
  // The header is red as no root is, and its right-hand side is the last node.
  if (node->_M_color == _S_red && node->_M_parent->_M_parent == node) return node->_M_right;
  if (node->_M_left) {
    node = node->_M_left;
    while (node->_M_right) node = node->_M_right;
    return node;
  }
  Node* above = node->_M_parent;
  while (node == above->_M_left) {
    node = above;
    above = above->_M_parent;
  }
  return above;
}

bool is_black(const Node* node) { return !node || node->_M_color == _S_black; }

// Puts `node` where `old` hangs below its parent, or makes it the root.
void hang(Node* node, Node* old, Node*& root) {
  Node* parent = old->_M_parent;
  if (root == old) {
    root = node;
  } else if (parent->_M_left == old) {
    parent->_M_left = node;
  } else {
    parent->_M_right = node;
  }
  if (node) node->_M_parent = parent;
}

// Lifts the child of `node` on the side of `far` above it.
void rotate(Node* node, Node* Node::* near, Node* Node::* far, Node*& root) {
  Node* child = node->*far;
  node->*far = child->*near;
  if (child->*near) (child->*near)->_M_parent = node;
  hang(child, node, root);
  child->*near = node;
  node->_M_parent = child;
}

void balance_after_insertion(Node* node, Node*& root) {
  while (node != root && node->_M_parent->_M_color == _S_red) {
    Node* parent = node->_M_parent;
    Node* above = parent->_M_parent;
    const bool left = parent == above->_M_left;
    const auto near = left ? &Node::_M_left : &Node::_M_right;
    const auto far = left ? &Node::_M_right : &Node::_M_left;
    Node* uncle = above->*far;
    if (!is_black(uncle)) {
      parent->_M_color = uncle->_M_color = _S_black;
      above->_M_color = _S_red;
      node = above;
      continue;
    }
    if (node == parent->*far) {
      rotate(parent, near, far, root);
      parent = node;
    }
    parent->_M_color = _S_black;
    above->_M_color = _S_red;
    rotate(above, far, near, root);
    break;
  }
  root->_M_color = _S_black;
}

// `node`, which may be null, and lies below `parent`, has one black node too few above it.
void balance_after_removal(Node* node, Node* parent, Node*& root) {
  while (node != root && is_black(node)) {
    const bool left = node == parent->_M_left;
    const auto near = left ? &Node::_M_left : &Node::_M_right;
    const auto far = left ? &Node::_M_right : &Node::_M_left;
    Node* sibling = parent->*far;
    if (sibling->_M_color == _S_red) {
      sibling->_M_color = _S_black;
      parent->_M_color = _S_red;
      rotate(parent, near, far, root);
      sibling = parent->*far;
    }
    if (is_black(sibling->*near) && is_black(sibling->*far)) {
      sibling->_M_color = _S_red;
      node = parent;
      parent = parent->_M_parent;
      continue;
    }
    if (is_black(sibling->*far)) {
      (sibling->*near)->_M_color = _S_black;
      sibling->_M_color = _S_red;
      rotate(sibling, far, near, root);
      sibling = parent->*far;
    }
    sibling->_M_color = parent->_M_color;
    parent->_M_color = _S_black;
    if (sibling->*far) (sibling->*far)->_M_color = _S_black;
    rotate(parent, near, far, root);
    break;
  }
  if (node) node->_M_color = _S_black;
}

Node* outermost(Node* node, Node* Node::* side) {
  while (node->*side) node = node->*side;
  return node;
}

}  // namespace

Node* _Rb_tree_increment(Node* node) throw() { return next_of(node); }
const Node* _Rb_tree_increment(const Node* node) throw() {
  return next_of(const_cast<Node*>(node));
}
Node* _Rb_tree_decrement(Node* node) throw() { return previous_of(node); }
const Node* _Rb_tree_decrement(const Node* node) throw() {
  return previous_of(const_cast<Node*>(node));
}

void _Rb_tree_insert_and_rebalance(const bool left, Node* node, Node* parent,
                                   Node& header) throw() {
  node->_M_parent = parent;
  node->_M_left = node->_M_right = nullptr;
  node->_M_color = _S_red;
  if (parent == &header) {
    header._M_parent = header._M_left = header._M_right = node;
  } else if (left) {
    parent->_M_left = node;
    if (parent == header._M_left) header._M_left = node;
  } else {
    parent->_M_right = node;
    if (parent == header._M_right) header._M_right = node;
  }
  balance_after_insertion(node, header._M_parent);
}

Node* _Rb_tree_rebalance_for_erase(Node* const node, Node& header) throw() {
  Node*& root = header._M_parent;
  if (header._M_left == node) {
    header._M_left = node->_M_right ? outermost(node->_M_right, &Node::_M_left) : node->_M_parent;
  }
  if (header._M_right == node) {
    header._M_right = node->_M_left ? outermost(node->_M_left, &Node::_M_right) : node->_M_parent;
  }
  Node *child, *parent;  // what takes the place of the node that goes, and what is above it then
  _Rb_tree_color gone = node->_M_color;
  if (!node->_M_left || !node->_M_right) {
    child = node->_M_left ? node->_M_left : node->_M_right;
    parent = node->_M_parent;
    hang(child, node, root);
  } else {
    Node* heir = outermost(node->_M_right, &Node::_M_left);
    child = heir->_M_right;
    gone = heir->_M_color;
    parent = heir->_M_parent == node ? heir : heir->_M_parent;
    if (parent != heir) {
      hang(child, heir, root);
      heir->_M_right = node->_M_right;
      heir->_M_right->_M_parent = heir;
    }
    hang(heir, node, root);
    heir->_M_left = node->_M_left;
    heir->_M_left->_M_parent = heir;
    heir->_M_color = node->_M_color;
    node->_M_color = gone;  // as the library leaves it
  }
  if (gone == _S_black) balance_after_removal(child, parent, root);
  return node;
}

unsigned int _Rb_tree_black_count(const Node* node, const Node* root) throw() {
  unsigned int count = 0;
  for (; node; node = node->_M_parent) {
    if (node->_M_color == _S_black) count++;
    if (node == root) break;
  }
  return count;
}

namespace __detail {

void _List_node_base::_M_hook(_List_node_base* const next) noexcept {
  _M_next = next;
  _M_prev = next->_M_prev;
  next->_M_prev->_M_next = this;
  next->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept {
  _List_node_base *const next = _M_next, *const previous = _M_prev;
  previous->_M_next = next;
  next->_M_prev = previous;
}

void _List_node_base::_M_transfer(_List_node_base* const first,
                                  _List_node_base* const last) noexcept {
  if (this == last) return;
  _List_node_base *const tail = last->_M_prev, *const before = first->_M_prev;
  _List_node_base* const own = _M_prev;
  before->_M_next = last;
  last->_M_prev = before;
  own->_M_next = first;
  first->_M_prev = own;
  tail->_M_next = this;
  _M_prev = tail;
}

void _List_node_base::_M_reverse() noexcept {
  _List_node_base* node = this;
  do {
    _List_node_base* const next = node->_M_next;
    node->_M_next = node->_M_prev;
    node->_M_prev = next;
    node = next;
  } while (node != this);
}

void _List_node_base::swap(_List_node_base& one, _List_node_base& other) noexcept {
  const bool some = one._M_next != &one, more = other._M_next != &other;
  _List_node_base *const next = one._M_next, *const previous = one._M_prev;
  if (more) {
    one._M_next = other._M_next;
    one._M_prev = other._M_prev;
    one._M_next->_M_prev = one._M_prev->_M_next = &one;
  } else {
    one._M_next = one._M_prev = &one;
  }
  if (some) {
    other._M_next = next;
    other._M_prev = previous;
    next->_M_prev = previous->_M_next = &other;
  } else {
    other._M_next = other._M_prev = &other;
  }
}

}  // namespace __detail

}  // namespace std
#endif
