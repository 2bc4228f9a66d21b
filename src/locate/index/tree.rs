//! The leaves of a document in a balanced tree, with the sums of each subtree.
//!
//! The tree is a treap: each node has a random priority that is not less than those of its children, so the expected
//! depth is logarithmic whatever the order of the edits. The priorities come from a generator with a fixed seed. They
//! determine the shape of the tree and no result.

use alloc::boxed::Box;

use super::leaf::{Leaf, Sums};
use crate::line_ending::LineEnding;

pub(super) type Tree = Option<Box<Node>>;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) leaf: Leaf,
    own: Sums,
    /// The sums of the leaf and of both subtrees.
    all: Sums,
    priority: u32,
    left: Tree,
    right: Tree,
}

impl Node {
    pub(super) fn new(leaf: Leaf, ending: LineEnding, priority: u32) -> Box<Self> {
        let own = leaf.sums(ending, leaf.len());
        Box::new(Self { leaf, own, all: own, priority, left: None, right: None })
    }

    fn update(mut self: Box<Self>) -> Box<Self> {
        self.all = sums(&self.left) + self.own + sums(&self.right);
        self
    }
}

pub(super) fn sums(tree: &Tree) -> Sums {
    tree.as_ref().map_or(Sums::default(), |node| node.all)
}

/// Joins two trees. All bytes of `left` are before those of `right`.
pub(super) fn join(left: Tree, right: Tree) -> Tree {
    let (mut left, mut right) = match (left, right) {
        (None, tree) | (tree, None) => return tree,
        (Some(left), Some(right)) => (left, right),
    };
    Some(if left.priority >= right.priority {
        left.right = join(left.right.take(), Some(right));
        left.update()
    } else {
        right.left = join(Some(left), right.left.take());
        right.update()
    })
}

/// Splits a tree. The leaves that end at or before `offset` are in the first one.
pub(super) fn split(tree: Tree, offset: u64) -> (Tree, Tree) {
    let Some(mut node) = tree else { return (None, None) };
    let end = sums(&node.left).bytes + node.own.bytes;
    if end <= offset {
        let (left, right) = split(node.right.take(), offset - end);
        node.right = left;
        (Some(node.update()), right)
    } else {
        let (left, right) = split(node.left.take(), offset);
        node.left = right;
        (left, Some(node.update()))
    }
}

pub(super) fn split_first(tree: Tree) -> (Option<Leaf>, Tree) {
    let Some(mut first) = tree.as_ref() else { return (None, None) };
    while let Some(left) = &first.left {
        first = left;
    }
    let len = first.own.bytes;
    let (first, rest) = split(tree, len);
    (first.map(|node| node.leaf), rest)
}

pub(super) fn split_last(tree: Tree) -> (Tree, Option<Leaf>) {
    let all_but_one_byte = sums(&tree).bytes.saturating_sub(1);
    let (rest, last) = split(tree, all_but_one_byte);
    (rest, last.map(|node| node.leaf))
}

/// Returns the leaf that contains the byte at `offset`, and the sums of the bytes before the leaf. At the end of the
/// document this is the last leaf.
pub(super) fn leaf_at(tree: &Tree, offset: u64) -> Option<(&Leaf, Sums)> {
    find(tree, |before, node| offset >= before.bytes + node.own.bytes)
}

/// Returns the leaf that contains the end of the `n`-th terminator, counted from 0, and the sums of the bytes before the
/// leaf. If there is no such terminator, this is the last leaf.
pub(super) fn leaf_of_end(tree: &Tree, n: u64) -> Option<(&Leaf, Sums)> {
    find(tree, |before, node| n >= before.ends + node.own.ends)
}

/// Returns the first leaf that is not `is_before` what is searched, or the last leaf. The first argument of `is_before` is
/// the sums of the bytes before the leaf of the node.
fn find(tree: &Tree, is_before: impl Fn(Sums, &Node) -> bool) -> Option<(&Leaf, Sums)> {
    let (mut tree, mut before) = (tree, Sums::default());
    let (mut found, mut last) = (None, None);
    while let Some(node) = tree {
        let here = before + sums(&node.left);
        if is_before(here, node) {
            last = Some((&node.leaf, here));
            before = here + node.own;
            tree = &node.right;
        } else {
            found = Some((&node.leaf, here));
            tree = &node.left;
        }
    }
    found.or(last)
}
