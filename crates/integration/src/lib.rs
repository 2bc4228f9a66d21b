//! The code of the pages that users read, as doctests. The blocks that need clients of databases and brokers are in
//! `recipes/`.
#![cfg(doctest)]

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => { $(
        #[doc = include_str!($path)]
        mod $name {}
    )* };
}

pages! {
    readme: "../../../README.md",
    migrating: "../../../docs/migrating.md",
    recipes: "../../../docs/recipes.md",
}
