// A map from small numbers to values that only grow, as a tree whose parts many maps share: a copy
// costs nothing, and a join only looks at the parts in which two maps differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/pool.h"

namespace warploom {

// Counts the owners of a T (which has a member `references`); the runtime has one OS thread.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(const Ref& other) : Ref(other.target_) {}
  Ref(Ref&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~Ref() {
    if (target_ && --target_->references == 0) drop_pooled(target_);
  }
  static Ref make(T value) {
    value.references = 0;
    return Ref(make_pooled<T>(std::move(value)));
  }
  const T* get() const { return target_; }
  const T& operator*() const { return *target_; }
  const T* operator->() const { return target_; }
  explicit operator bool() const { return target_ != nullptr; }
  bool operator==(const Ref&) const = default;
  // To change it: a copy of its own where others have it too, a fresh one where there is none.
  T& own() {
    if (!target_) {
      *this = make({});
    } else if (target_->references > 1) {
      *this = make(*target_);
    }
    return *target_;
  }

 private:
  explicit Ref(T* target) : target_(target) {
    if (target_) target_->references++;
  }
  T* target_ = nullptr;
};

// Leaf: what is known of 2^kLeafBits neighbors, with `bool covers(const Leaf&) const`,
// `void join(const Leaf&)`, and numbers by which a join leaves out whole branches: a leaf whose
// `least()` is no less than another's `most()` covers it. Where ranks do the same in step, that
// spares a look at nearly all that two of them know of the others.
template <class Leaf, unsigned kLeafBits>
class SharedTree {
  static constexpr unsigned kInnerBits = 4;
  static constexpr uint32_t kInner = 1u << kInnerBits;

  struct Node {
    uint32_t references = 0;
    uint32_t least = 0, most = 0;  // of all leaves below, once `summed`
    bool summed = false;
  };
  struct LeafNode : Node {
    Leaf leaf{};
  };
  struct Inner : Node {
    Node* children[kInner]{};
  };

 public:
  SharedTree() = default;
  SharedTree(const SharedTree& other) : root_(hold(other.root_)), height_(other.height_) {}
  SharedTree(SharedTree&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)), height_(std::exchange(other.height_, 0)) {}
  SharedTree& operator=(SharedTree other) noexcept {
    std::swap(root_, other.root_);
    std::swap(height_, other.height_);
    return *this;
  }
  ~SharedTree() { drop(root_, height_); }

  bool empty() const { return !root_; }
  bool same_as(const SharedTree& other) const { return root_ == other.root_; }
  const void* identity() const { return root_; }  // equal: the same

  // The leaf of this key; nullptr: nothing was ever entered near it.
  const Leaf* find(uint32_t key) const {
    if (key >> kLeafBits >> kInnerBits * height_) return nullptr;
    const Node* node = root_;
    for (unsigned level = height_; node && level > 0; level--) {
      node = static_cast<const Inner*>(node)->children[index(key, level)];
    }
    return node ? &static_cast<const LeafNode*>(node)->leaf : nullptr;
  }

  // The same, to be changed in this map only.
  Leaf& change(uint32_t key) {
    unsigned height = height_;
    while (key >> kLeafBits >> kInnerBits * height) height++;
    grow(height);
    Node** slot = &root_;
    for (unsigned level = height_; level > 0; level--) {
      slot = &own<Inner>(*slot).children[index(key, level)];
    }
    return own<LeafNode>(*slot).leaf;
  }

  void join(const SharedTree& other) {
    if (!other.root_ || other.root_ == root_) return;
    SharedTree from(other);
    if (root_) {
      const unsigned height = std::max(height_, other.height_);
      grow(height);
      from.grow(height);
    } else {
      height_ = other.height_;
    }
    root_ = joined(root_, from.root_, height_);
  }

 private:
  static uint32_t index(uint32_t key, unsigned level) {
    return key >> (kLeafBits + kInnerBits * (level - 1)) & (kInner - 1);
  }

  static void prefetch(const Node* node) {
    const char* start = reinterpret_cast<const char*>(node);
    for (int line = 0; line < 3; line++) __builtin_prefetch(start + 64 * line);
  }

  static Node* hold(Node* node) {
    if (node) node->references++;
    return node;
  }

  static void drop(Node* node, unsigned level) {
    if (!node || --node->references) return;
    if (level == 0) {
      drop_pooled(static_cast<LeafNode*>(node));
      return;
    }
    auto* inner = static_cast<Inner*>(node);
    for (Node* child : inner->children) drop(child, level - 1);
    drop_pooled(inner);
  }

  static LeafNode* copy_of(const LeafNode& leaf) { return make_pooled<LeafNode>(leaf); }
  static Inner* copy_of(const Inner& inner) {
    auto* copy = make_pooled<Inner>(inner);
    for (Node* child : copy->children) hold(child);
    return copy;
  }

  // Makes the node in `slot` one that nobody else has.
  template <class Kind>
  static Kind& own(Node*& slot) {
    if (!slot || slot->references > 1) {
      Kind* made = slot ? copy_of(*static_cast<Kind*>(slot)) : make_pooled<Kind>();
      made->references = 1;
      if (slot) slot->references--;
      slot = made;
    }
    slot->summed = false;
    return *static_cast<Kind*>(slot);
  }

  void grow(unsigned height) {
    if (!root_) height_ = height;
    for (; height_ < height; height_++) {
      auto* above = make_pooled<Inner>();
      above->references = 1;
      above->children[0] = root_;
      root_ = above;
    }
  }

  static void sum(Node* node, unsigned level) {
    if (node->summed) return;
    node->summed = true;
    if (level == 0) {
      const Leaf& leaf = static_cast<LeafNode*>(node)->leaf;
      node->least = leaf.least();
      node->most = leaf.most();
      return;
    }
    node->least = ~uint32_t{0};
    node->most = 0;
    for (Node* child : static_cast<Inner*>(node)->children) {
      if (child) sum(child, level - 1);
      node->least = std::min(node->least, child ? child->least : 0);
      node->most = std::max(node->most, child ? child->most : 0);
    }
  }

  // Takes over the caller's hold on `mine`; what it returns is held for the caller. Where one of
  // the two covers the other it is returned itself, theirs rather than mine, so that maps with
  // equal content come to share it.
  static Node* joined(Node* mine, Node* theirs, unsigned level) {
    if (mine == theirs || !theirs) return mine;
    if (!mine) return hold(theirs);
    sum(mine, level);
    sum(theirs, level);
    // Where both hold the same, all take one of them.
    if (theirs->least >= mine->most) {
      drop(mine, level);
      return hold(theirs);
    }
    if (mine->least >= theirs->most) return mine;
    if (level == 0)
      return joined_leaf(static_cast<LeafNode*>(mine), static_cast<LeafNode*>(theirs));
    return joined_inner(static_cast<Inner*>(mine), static_cast<Inner*>(theirs), level);
  }

  static Node* joined_leaf(LeafNode* mine, LeafNode* theirs) {
    const bool ahead = !theirs->leaf.covers(mine->leaf);
    if (!ahead) {
      drop(mine, 0);
      return hold(theirs);
    }
    if (mine->leaf.covers(theirs->leaf)) return mine;
    Node* slot = mine;
    own<LeafNode>(slot).leaf.join(theirs->leaf);
    return slot;
  }

  static Node* joined_inner(Inner* mine, Inner* theirs, unsigned level) {
    // Leaves lie anywhere: what the loop will look at is fetched at once.
    if (level == 1) {
      for (const Node* child : theirs->children) prefetch(child);
    }
    const bool alone = mine->references == 1;
    bool all_mine = true, all_theirs = true;
    Inner* made = alone ? mine : nullptr;
    for (uint32_t i = 0; i < kInner; i++) {
      Node* const before = mine->children[i];
      Node* child = joined(alone ? before : hold(before), theirs->children[i], level - 1);
      const bool is_mine = child == before, is_theirs = child == theirs->children[i];
      if (!made && !(all_mine && is_mine) && !(all_theirs && is_theirs)) {
        made = make_pooled<Inner>();
        made->references = 1;
        const Inner& first = all_mine ? *mine : *theirs;
        for (uint32_t k = 0; k < i; k++) made->children[k] = hold(first.children[k]);
      }
      all_mine &= is_mine;
      all_theirs &= is_theirs;
      if (made) {
        made->children[i] = child;
      } else {
        drop(child, level - 1);  // it is mine or theirs, which have it
      }
    }
    if (made) made->summed = false;
    if (all_theirs) {
      drop(mine, level);
      return hold(theirs);
    }
    if (!made) return mine;
    if (!alone) drop(mine, level);
    return made;
  }

  Node* root_ = nullptr;
  unsigned height_ = 0;  // levels of inner nodes
};

}  // namespace warploom
