//! A global allocator that counts, and assertions on its count. A test program that includes this file counts all of its
//! allocations, so it is not a part of `support`.
#![allow(dead_code, missing_docs, unreachable_pub)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

/// The system allocator, with a count of the allocations of each thread and of the bytes that it holds.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST_HELD: Cell<isize> = const { Cell::new(0) };
}

/// Adds to the bytes that this thread holds. While a thread ends, its counter has already been dropped.
fn hold(bytes: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST_HELD.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call is forwarded to `System`, which upholds the contract. The default `realloc` calls `alloc` and
// `dealloc`.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // While a thread ends, its counter has already been dropped.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        hold(layout.size() as isize);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: usize = 50;
const ROUNDS: usize = 100;

/// Asserts that a round does not allocate after some rounds in which the buffers grow.
#[track_caller]
pub fn assert_steady(name: &str, round: impl FnMut()) {
    assert_eq!(allocations(round), 0, "{name}: allocations in {ROUNDS} rounds");
}

/// Asserts that a round makes at most this many allocations on average. Used for items that are copies.
#[track_caller]
pub fn assert_at_most(each_round: usize, name: &str, round: impl FnMut()) {
    let count = allocations(round);
    assert!(count <= each_round * ROUNDS, "{name}: {count} allocations in {ROUNDS} rounds");
}

/// Returns the number of allocations of [`ROUNDS`] rounds, after some in which the buffers grow.
fn allocations(mut round: impl FnMut()) -> usize {
    (0..WARM_UP).for_each(|_| round());
    count(|| (0..ROUNDS).for_each(|_| round()))
}

/// Returns the number of allocations that `run` makes on this thread.
pub fn count(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

/// Returns the largest number of bytes that this thread holds at once during `run`, without those that it held before.
pub fn most_held_by(run: impl FnOnce()) -> usize {
    let before = HELD.get();
    MOST_HELD.set(before);
    run();
    usize::try_from(MOST_HELD.get() - before).expect("not less than before")
}

/// Returns the number of bytes that this thread has allocated and not freed.
pub fn held() -> usize {
    usize::try_from(HELD.get()).expect("this thread frees only its own allocations")
}
