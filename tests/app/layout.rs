//! The split tree tiles its area exactly, whatever is done to it.

use crate::world::World;
use hermes_tui::app::Msg;
use hermes_tui::app::layout::{Axis, Direction, PaneId, Tree, inner};
use hermes_tui::app::view_model::Area;
use hermes_tui::domain::{Size, Span};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Split(usize, bool),
    Remove(usize),
    Resize(usize, u8, u16),
    Swap(usize, usize),
    Even,
    Drag(u16, u16, u16, u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<usize>(), any::<bool>()).prop_map(|(p, a)| Step::Split(p, a)),
        2 => any::<usize>().prop_map(Step::Remove),
        3 => (any::<usize>(), 0u8..4, 1u16..20).prop_map(|(p, d, n)| Step::Resize(p, d, n)),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Swap(a, b)),
        1 => Just(Step::Even),
        3 => (0u16..200, 0u16..60, 0u16..200, 0u16..60).prop_map(|(a, b, c, d)| Step::Drag(a, b, c, d)),
    ]
}

fn direction(n: u8) -> Direction {
    [Direction::Left, Direction::Down, Direction::Up, Direction::Right][usize::from(n % 4)]
}

/// Every cell inside the area is inside exactly one pane or on a border, and borders are shared.
fn check(tree: &Tree, area: Area) {
    let areas = tree.areas(area);
    let at = |x: u16, y: u16| (usize::from(y - area.y) * usize::from(area.width)) + usize::from(x - area.x);
    let mut owners = vec![0u8; usize::from(area.width) * usize::from(area.height)];
    let mut borders = vec![false; owners.len()];
    for (pane, a) in &areas {
        let inside = inner(*a);
        assert!(inside.width >= 2 && inside.height >= 1, "{pane:?} has {inside:?} of {area:?}");
        assert!(a.x >= area.x && a.x + a.width <= area.x + area.width, "{a:?} leaves {area:?}");
        assert!(a.y >= area.y && a.y + a.height <= area.y + area.height, "{a:?} leaves {area:?}");
        for y in a.y..a.y + a.height {
            for x in a.x..a.x + a.width {
                let within =
                    x >= inside.x && x < inside.x + inside.width && y >= inside.y && y < inside.y + inside.height;
                if within {
                    owners[at(x, y)] += 1;
                } else {
                    borders[at(x, y)] = true;
                }
            }
        }
    }
    for (owner, border) in owners.iter().zip(&borders) {
        assert!(*owner == u8::from(!border), "a cell has {owner} panes, border: {border}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn panes_tile_the_area_exactly(
        steps in prop::collection::vec(step(), 0..40),
        width in 37u16..180, height in 10u16..60, x in 0u16..30, y in 0u16..3,
    ) {
        let area = Area { x, y, width, height };
        let mut tree = Tree::new(PaneId(0));
        let mut next = 1;
        for step in steps {
            let panes = tree.panes();
            let pane = |i: usize| panes[i % panes.len()];
            match step {
                Step::Split(i, across) => {
                    let mut bigger = tree.clone();
                    let axis = if across { Axis::Across } else { Axis::Down };
                    prop_assert!(bigger.split(pane(i), axis, PaneId(next)));
                    next += 1;
                    if bigger.fits(area) {
                        tree = bigger;
                    }
                }
                Step::Remove(i) => prop_assert_eq!(tree.remove(pane(i)), panes.len() > 1),
                Step::Resize(i, d, n) => {
                    tree.resize(pane(i), direction(d), n, area);
                }
                Step::Swap(a, b) => tree.swap(pane(a), pane(b)),
                Step::Even => tree.even_out(),
                Step::Drag(a, b, c, d) => {
                    if let Some(border) = tree.border_at(area, a, b) {
                        tree.drag(&border, area, c, d);
                    }
                }
            }
            prop_assert!(tree.fits(area));
            check(&tree, area);
            let mut all = tree.panes();
            all.sort();
            all.dedup();
            prop_assert_eq!(all.len(), tree.panes().len());
        }
    }

    #[test]
    fn a_tree_that_does_not_fit_still_has_no_pane_outside(
        splits in prop::collection::vec((any::<usize>(), any::<bool>()), 0..60),
        width in 1u16..60, height in 1u16..20,
    ) {
        let area = Area { x: 3, y: 2, width, height };
        let mut tree = Tree::new(PaneId(0));
        for (n, (i, across)) in splits.into_iter().enumerate() {
            let panes = tree.panes();
            let axis = if across { Axis::Across } else { Axis::Down };
            tree.split(panes[i % panes.len()], axis, PaneId(u32::try_from(n).unwrap() + 1));
        }
        for (_, a) in tree.areas(area) {
            prop_assert!(a.width > 0 && a.height > 0);
            prop_assert!(a.x >= area.x && a.x + a.width <= area.x + area.width);
            prop_assert!(a.y >= area.y && a.y + a.height <= area.y + area.height);
        }
    }

    #[test]
    fn neighbours_are_mutual(splits in prop::collection::vec((any::<usize>(), any::<bool>()), 1..12)) {
        let area = Area { x: 0, y: 0, width: 160, height: 50 };
        let mut tree = Tree::new(PaneId(0));
        for (n, (i, across)) in splits.into_iter().enumerate() {
            let panes = tree.panes();
            let axis = if across { Axis::Across } else { Axis::Down };
            tree.split(panes[i % panes.len()], axis, PaneId(u32::try_from(n).unwrap() + 1));
        }
        prop_assume!(tree.fits(area));
        let areas = tree.areas(area);
        for (pane, a) in &areas {
            let has = |d| tree.neighbour(*pane, d, area).is_some();
            prop_assert_eq!(has(Direction::Left), a.x > 0);
            prop_assert_eq!(has(Direction::Right), a.x + a.width < area.width);
            prop_assert_eq!(has(Direction::Up), a.y > 0);
            prop_assert_eq!(has(Direction::Down), a.y + a.height < area.height);
        }
    }
}

const SCREEN: Area = Area { x: 0, y: 0, width: 81, height: 25 };

fn widths(tree: &Tree) -> Vec<u16> {
    tree.areas(SCREEN).iter().map(|(_, a)| a.width).collect()
}

#[test]
fn halves_are_equal_and_share_their_border() {
    let mut tree = Tree::new(PaneId(1));
    tree.split(PaneId(1), Axis::Across, PaneId(2));
    assert_eq!(
        tree.areas(SCREEN),
        [
            (PaneId(1), Area { x: 0, y: 0, width: 41, height: 25 }),
            (PaneId(2), Area { x: 40, y: 0, width: 41, height: 25 })
        ]
    );
}

#[test]
fn a_third_pane_takes_half_of_its_neighbour_and_even_out_makes_thirds() {
    let mut tree = Tree::new(PaneId(1));
    tree.split(PaneId(1), Axis::Across, PaneId(2));
    tree.split(PaneId(2), Axis::Across, PaneId(3));
    assert_eq!(widths(&tree), [41, 21, 21]);
    tree.even_out();
    assert_eq!(widths(&tree), [28, 27, 28]);
}

#[test]
fn resizing_moves_the_far_border_or_the_near_one_of_the_last_pane() {
    let mut tree = Tree::new(PaneId(1));
    tree.split(PaneId(1), Axis::Across, PaneId(2));
    assert!(tree.resize(PaneId(1), Direction::Right, 5, SCREEN));
    assert_eq!(widths(&tree), [46, 36]);
    assert!(tree.resize(PaneId(2), Direction::Left, 5, SCREEN));
    assert_eq!(widths(&tree), [41, 41]);
    assert!(!tree.resize(PaneId(1), Direction::Up, 1, SCREEN), "nothing lies above or below");
    assert!(tree.resize(PaneId(1), Direction::Right, 500, SCREEN));
    assert_eq!(widths(&tree), [78, 4], "two columns stay inside");
    assert!(!tree.resize(PaneId(1), Direction::Right, 1, SCREEN));
}

#[test]
fn a_removed_pane_gives_its_room_to_its_neighbours() {
    let mut tree = Tree::new(PaneId(1));
    tree.split(PaneId(1), Axis::Across, PaneId(2));
    tree.split(PaneId(2), Axis::Down, PaneId(3));
    assert!(tree.remove(PaneId(1)));
    assert_eq!(tree.panes(), [PaneId(2), PaneId(3)]);
    assert_eq!(widths(&tree), [81, 81]);
    assert!(tree.remove(PaneId(2)));
    assert!(!tree.remove(PaneId(3)), "the last pane stays");
}

#[test]
fn the_neighbour_is_the_one_level_with_the_middle() {
    let mut tree = Tree::new(PaneId(1));
    tree.split(PaneId(1), Axis::Across, PaneId(2));
    tree.split(PaneId(2), Axis::Down, PaneId(3));
    tree.resize(PaneId(2), Direction::Up, 8, SCREEN);
    assert_eq!(tree.neighbour(PaneId(1), Direction::Right, SCREEN), Some(PaneId(3)));
    assert_eq!(tree.neighbour(PaneId(3), Direction::Up, SCREEN), Some(PaneId(2)));
    assert_eq!(tree.neighbour(PaneId(3), Direction::Left, SCREEN), Some(PaneId(1)));
    assert_eq!(tree.neighbour(PaneId(1), Direction::Left, SCREEN), None);
}

#[test]
fn what_is_drawn_anew_for_another_size_is_no_news_of_a_hidden_tab() {
    let mut world = World::with_shell();
    let hidden = world.session();
    world.keys("C-b c");
    let client = *world.model.clients.keys().next().expect("one");
    world.msg(Msg::ClientResized { client, size: Size { rows: 30, cols: 100 } });
    world.output(&hidden, "\r$ ");
    assert!(!world.view().tabs[0].activity, "its shell wrote its prompt again");
    world.pass(Span::seconds(2));
    world.output(&hidden, "done");
    assert!(world.view().tabs[0].activity);
}
