//! What a program is told when it asks, and the modes and settings that it asks about.

use crate::support::{feed, reply, screen, shown};
use hermes_tui::term::{MouseEncoding, MouseTracking, Screen};

#[track_caller]
fn assert_replies(screen: &mut Screen, table: &[(&str, &str)]) {
    for (question, answer) in table {
        assert_eq!(reply(screen, question), *answer, "{question:?}");
    }
}

#[test]
fn attributes_version_and_status() {
    let version = format!("\x1bP>|hermes-tui {}\x1b\\", env!("CARGO_PKG_VERSION"));
    assert_replies(
        &mut screen(4, 20),
        &[
            ("\x1b[c", "\x1b[?62;22c"),
            ("\x1b[0c", "\x1b[?62;22c"),
            ("\x1bZ", "\x1b[?62;22c"),
            ("\x1b[>c", "\x1b[>1;400;0c"),
            ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
            ("\x1b[>q", &version),
            ("\x1b[>0q", &version),
            ("\x1b[5n", "\x1b[0n"),
            ("\x1b[3;5H\x1b[6n", "\x1b[3;5R"),
            ("\x1b[?6n", "\x1b[?3;5R"),
            ("\x1b[?15n", "\x1b[?13n"),
            ("\x1b[?26n", "\x1b[?27;1n"),
            ("\x1b[?55n", "\x1b[?50n"),
            ("\x1b[?62n", "\x1b[0*{"),
            ("\x1b[?63;7n", "\x1bP7!~0000\x1b\\"),
            ("\x1b[?75n", "\x1b[?70n"),
            ("\x1b[?85n", "\x1b[?83n"),
            ("\x1b[x", "\x1b[2;1;1;128;128;1;0x"),
            ("\x1b[1c\x1b[>1c\x1b[>1q\x1b[9n\x1b[?99n", ""),
        ],
    );
}

#[test]
fn the_place_of_the_cursor_is_told_as_the_program_counts_it() {
    let mut screen = screen(10, 20);
    assert_eq!(reply(&mut screen, "\x1b[3;6r\x1b[?6h\x1b[2;4H\x1b[6n"), "\x1b[2;4R");
    assert_eq!(reply(&mut screen, "\x1b[?6n"), "\x1b[?2;4R");
    assert_eq!(reply(&mut screen, "\x1b[?6l\x1b[6n"), "\x1b[1;1R", "leaving origin mode goes home, too");
}

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let mut screen = screen(4, 20);
    screen.set_theme((1, 1, 1), (2, 2, 2));
    // Programs ask for attributes last, so as to know when no other answer will come.
    assert_eq!(
        reply(&mut screen, "\x1b]11;?\x07\x1bP+q436f\x1b\\\x1b[?u\x1b[c"),
        "\x1b]11;rgb:0202/0202/0202\x07\x1bP1+r436F=323536\x1b\\\x1b[?0u\x1b[?62;22c"
    );
    assert_eq!(reply(&mut screen, "\x1b[?2026h\x1b[c\x1b[>q"), "", "held back with the rest of the update");
    assert!(reply(&mut screen, "\x1b[?2026l").starts_with("\x1b[?62;22c\x1bP>|"));
}

#[test]
fn modes_are_told_as_they_are() {
    let mut screen = screen(4, 20);
    for mode in [1, 4, 5, 6, 12, 18, 19, 40, 45, 47, 66, 67, 1000, 1002, 1003, 1004, 1005, 1006, 1045, 1047, 1049, 2004]
    {
        let ask = format!("\x1b[?{mode}$p");
        assert_eq!(reply(&mut screen, &ask), format!("\x1b[?{mode};2$y"));
        assert_eq!(reply(&mut screen, &format!("\x1b[?{mode}h{ask}")), format!("\x1b[?{mode};1$y"));
        assert_eq!(reply(&mut screen, &format!("\x1b[?{mode}s\x1b[?{mode}l{ask}")), format!("\x1b[?{mode};2$y"));
        assert_eq!(reply(&mut screen, &format!("\x1b[?{mode}r{ask}\x1b[?{mode}l")), format!("\x1b[?{mode};1$y"));
    }
    assert_replies(
        &mut screen,
        &[
            ("\x1b[?7$p\x1b[?25$p\x1b[?1007$p", "\x1b[?7;1$y\x1b[?25;1$y\x1b[?1007;1$y"),
            ("\x1b[?7;25;1007l\x1b[?7$p\x1b[?25$p\x1b[?1007$p", "\x1b[?7;2$y\x1b[?25;2$y\x1b[?1007;2$y"),
            ("\x1b[4$p\x1b[20$p", "\x1b[4;2$y\x1b[20;2$y"),
            ("\x1b[4;20h\x1b[4$p\x1b[20$p", "\x1b[4;1$y\x1b[20;1$y"),
            ("\x1b[12$p\x1b[2$p\x1b[99$p", "\x1b[12;3$y\x1b[2;4$y\x1b[99;0$y"),
            ("\x1b[?8$p\x1b[?69$p\x1b[?2027$p\x1b[?12345$p", "\x1b[?8;3$y\x1b[?69;4$y\x1b[?2027;4$y\x1b[?12345;0$y"),
            ("\x1b[?2026$p", "\x1b[?2026;2$y"),
            ("\x1b[?2026h\x1b[?2026$p\x1b[?2026l\x1b[?2026$p", "\x1b[?2026;1$y\x1b[?2026;2$y"),
        ],
    );
}

#[test]
fn settings_are_told_as_they_are() {
    let mut screen = screen(10, 20);
    assert_replies(
        &mut screen,
        &[
            ("\x1bP$qm\x1b\\", "\x1bP1$r0m\x1b\\"),
            ("\x1b[1;2;3;4:3;7;8;9;31;104;58:5:3m\x1bP$qm\x1b\\", "\x1bP1$r0;1;2;3;4:3;7;8;9;31;104;58:5:3m\x1b\\"),
            (
                "\x1b[0;21;38;2;1;2;3;48;5;200;58:2::4:5:6m\x1bP$qm\x1b\\",
                "\x1bP1$r0;4:2;38:2::1:2:3;48:5:200;58:2::4:5:6m\x1b\\",
            ),
            ("\x1bP$qr\x1b\\", "\x1bP1$r1;10r\x1b\\"),
            ("\x1b[3;6r\x1bP$qr\x1b\\", "\x1bP1$r3;6r\x1b\\"),
            ("\x1bP$qs\x1b\\", "\x1bP1$r1;20s\x1b\\"),
            ("\x1bP$qt\x1b\\", "\x1bP1$r10t\x1b\\"),
            ("\x1bP$q*|\x1b\\", "\x1bP1$r10*|\x1b\\"),
            ("\x1bP$q$|\x1b\\", "\x1bP1$r20$|\x1b\\"),
            ("\x1bP$q q\x1b\\", "\x1bP1$r2 q\x1b\\"),
            ("\x1b[5 q\x1bP$q q\x1b\\", "\x1bP1$r5 q\x1b\\"),
            ("\x1b[4 q\x1bP$q q\x1b\\", "\x1bP1$r4 q\x1b\\"),
            ("\x1bP$q\"p\x1b\\", "\x1bP1$r62;1\"p\x1b\\"),
            ("\x1bP$q\"q\x1b\\", "\x1bP1$r0\"q\x1b\\"),
            ("\x1bP$qINJECT\x1b\\", "\x1bP0$r\x1b\\"),
            ("\x1bP$q\x1b\\", "\x1bP0$r\x1b\\"),
        ],
    );
    screen.resize(hermes_tui::domain::Size { rows: 8, cols: 20 });
    assert_eq!(reply(&mut screen, "\x1bP$qr\x1b\\"), "\x1bP1$r1;8r\x1b\\", "a change of size ends the region");
}

#[test]
fn capabilities_come_from_a_table() {
    assert_replies(
        &mut screen(4, 20),
        &[
            ("\x1bP+q544e\x1b\\", "\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\"),
            ("\x1bP+q436F;524742\x1b\\", "\x1bP1+r436F=323536\x1b\\\x1bP1+r524742=382F382F38\x1b\\"),
            ("\x1bP+q5463\x1b\\", "\x1bP1+r5463\x1b\\"),
            ("\x1bP+q6b75\x1b\\", "\x1bP1+r6B75=1B4F41\x1b\\"),
            // Nothing of an unknown name comes back.
            ("\x1bP+q494e4a454354\x1b\\", "\x1bP0+r\x1b\\"),
            ("\x1bP+qzz\x1b\\\x1bP+q4\x1b\\\x1bP+q\x1b\\", "\x1bP0+r\x1b\\\x1bP0+r\x1b\\\x1bP0+r\x1b\\"),
            // Neither does a request with a control character in it, or one too long.
            ("\x1bP+q54\r4e\x1b\\", ""),
            ("\x1bP+p41\x1b\\\x1bPq#0\x1b\\\x1bP1$r0m\x1b\\", ""),
        ],
    );
    assert_eq!(reply(&mut screen(4, 20), &format!("\x1bP+q{}\x1b\\ok", "544e;".repeat(100))), "");
}

#[test]
fn windows_are_told_of_and_never_moved() {
    let mut screen = screen(10, 40);
    assert_replies(
        &mut screen,
        &[
            ("\x1b[11t", "\x1b[1t"),
            ("\x1b[13t", "\x1b[3;0;0t"),
            ("\x1b[14t", "\x1b[4;200;400t"),
            ("\x1b[15t", "\x1b[5;200;400t"),
            ("\x1b[16t", "\x1b[6;20;10t"),
            ("\x1b[18t", "\x1b[8;10;40t"),
            ("\x1b[19t", "\x1b[9;10;40t"),
            ("\x1b]2;secret\x07\x1b[20t\x1b[21t", ""),
            ("\x1b[8;50;100t\x1b[30t\x1b[3;1;1t\x1b[2t\x1b[18t", "\x1b[8;10;40t"),
        ],
    );
    feed(&mut screen, "\x1b[22;2t\x1b]2;inner\x07\x1b[22;1t\x1b[23;1t");
    assert_eq!(screen.title(), "inner", "the icon's title is nobody's");
    feed(&mut screen, "\x1b[23;0t");
    assert_eq!(screen.title(), "secret");
}

#[test]
fn colours_are_set_told_and_taken_back() {
    let mut screen = screen(4, 20);
    assert_eq!(reply(&mut screen, "\x1b]4;1;?\x07\x1b]10;?\x07\x1b]12;?\x07"), "", "nothing is known of the terminal");
    assert_replies(
        &mut screen,
        &[
            (
                "\x1b]4;1;#102030;2;rgb:f/0/f\x07\x1b]4;1;?;2;?\x07",
                "\x1b]4;1;rgb:1010/2020/3030\x07\x1b]4;2;rgb:ffff/0000/ffff\x07",
            ),
            (
                "\x1b]10;#111111;#222222;#333333\x1b\\\x1b]10;?;?;?\x1b\\",
                "\x1b]10;rgb:1111/1111/1111\x1b\\\x1b]11;rgb:2222/2222/2222\x1b\\\x1b]12;rgb:3333/3333/3333\x1b\\",
            ),
            ("\x1b]4;1;INJECT\x07\x1b]4;256;?\x07\x1b]4;x;?\x07\x1b]13;?\x07", ""),
            ("\x1b]104;1\x07\x1b]4;1;?;2;?\x07", "\x1b]4;2;rgb:ffff/0000/ffff\x07"),
            ("\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07\x1b]4;2;?\x07\x1b]10;?;?;?\x07", ""),
        ],
    );
    screen.set_theme((255, 255, 255), (16, 32, 48));
    assert_eq!(reply(&mut screen, "\x1b]11;#000\x07\x1b]11;?\x07"), "\x1b]11;rgb:0000/0000/0000\x07");
    assert_eq!(reply(&mut screen, "\x1b]111\x07\x1b]11;?\x07"), "\x1b]11;rgb:1010/2020/3030\x07");
}

#[test]
fn whether_the_background_is_light_is_told_once_it_is_known() {
    let mut screen = screen(4, 20);
    assert_eq!(reply(&mut screen, "\x1b[?996n"), "");
    for (background, answer) in [((16, 32, 48), "\x1b[?997;1n"), ((253, 246, 227), "\x1b[?997;2n")] {
        screen.set_theme((128, 128, 128), background);
        assert_eq!(reply(&mut screen, "\x1b[?996n"), answer);
    }
}

#[test]
fn sums_of_cells_are_told_only_where_that_is_allowed() {
    let mut screen = screen(4, 20);
    feed(&mut screen, "secret");
    assert_eq!(reply(&mut screen, "\x1b[7;1;1;1;1;1*y"), "");
    screen.allow_checksums(true);
    assert_eq!(reply(&mut screen, "\x1b[7;1;1;1;1;1*y"), "\x1bP7!~0073\x1b\\");
    assert_eq!(reply(&mut screen, "\x1b[7;1;1;1;1;6*y"), "\x1bP7!~0286\x1b\\");
    assert_eq!(reply(&mut screen, "\x1b[7;1;9;9;99;99*y"), "\x1bP7!~0000\x1b\\", "outside of the screen is nothing");
    assert_eq!(reply(&mut screen, "\x1b[7*y").len(), "\x1bP7!~0000\x1b\\".len());
}

#[test]
fn a_soft_reset_brings_modes_and_the_pen_back_and_keeps_the_text() {
    let mut screen = screen(6, 20);
    feed(&mut screen, "text\x1b[2;4r\x1b[?6h\x1b[4h\x1b[?1h\x1b=\x1b[?25l\x1b[1;31m\x1b(0\x1b[?7l\x1b[2;3H\x1b[!p");
    assert_eq!(screen.text(), "text");
    let modes = screen.modes();
    assert!(!modes.app_cursor && !modes.app_keypad && screen.cursor().is_some());
    assert_eq!(reply(&mut screen, "\x1b[6n"), "\x1b[3;3R", "the cursor stays");
    assert_eq!(reply(&mut screen, "\x1bP$qm\x1b\\\x1bP$qr\x1b\\"), "\x1bP1$r0m\x1b\\\x1bP1$r1;6r\x1b\\");
    assert_eq!(reply(&mut screen, "\x1b[4$p\x1b[?6$p\x1b[?7$p"), "\x1b[4;2$y\x1b[?6;2$y\x1b[?7;1$y");
    feed(&mut screen, "q");
    assert_eq!(shown(&screen)[2], "  q", "letters are letters again");
}

#[test]
fn the_cursor_stops_at_the_region_it_is_in() {
    let mut screen = screen(10, 20);
    feed(&mut screen, "\x1b[3;7r");
    for (motion, place) in [
        ("\x1b[5;4H\x1b[99A", "\x1b[3;4R"),
        ("\x1b[2;4H\x1b[99A", "\x1b[1;4R"),
        ("\x1b[9;4H\x1b[99A", "\x1b[3;4R"),
        ("\x1b[5;4H\x1b[99B", "\x1b[7;4R"),
        ("\x1b[9;4H\x1b[99B", "\x1b[10;4R"),
        ("\x1b[1;4H\x1b[99B", "\x1b[7;4R"),
        ("\x1b[5;4H\x1b[2E", "\x1b[7;1R"),
        ("\x1b[5;4H\x1b[9F", "\x1b[3;1R"),
        ("\x1b[?6h\x1b[2;4H\x1b[A\x1b[C\x1b[G\x1b[3G", "\x1b[1;3R"),
        ("\x1b[99;4H", "\x1b[5;4R"),
        ("\x1b[2d", "\x1b[2;4R"),
        ("\x1b[2;3H\x1b7\x1b[?6l\x1b8\x1b[?6$p", "\x1b[?6;1$y\x1b[2;3R"),
    ] {
        assert_eq!(reply(&mut screen, &format!("{motion}\x1b[6n")), place, "{motion:?}");
    }
}

#[test]
fn each_screen_has_a_cursor_of_its_own_to_restore() {
    let mut screen = screen(8, 20);
    assert_eq!(reply(&mut screen, "\x1b[2;3H\x1b7\x1b[?47h\x1b[6n"), "\x1b[2;3R", "mode 47 takes the cursor along");
    assert_eq!(reply(&mut screen, "\x1b[6;7H\x1b7\x1b[?47l\x1b[6n\x1b8\x1b[6n"), "\x1b[6;7R\x1b[2;3R");
    assert_eq!(reply(&mut screen, "\x1b[?1047h\x1b8\x1b[6n\x1b[?1047l"), "\x1b[6;7R");
    assert_eq!(reply(&mut screen, "\x1b[4;4H\x1b[?1049h\x1b[H\x1b[?1049l\x1b[6n"), "\x1b[4;4R");
    // Once more on the main screen it comes back to the same place; where nothing was saved, it stays.
    assert_eq!(reply(&mut screen, "\x1b[2;2H\x1b[?1049l\x1b[6n"), "\x1b[4;4R");
    assert_eq!(reply(&mut crate::support::screen(24, 80), "\x1b[2;2H\x1b[?1049l\x1b[6n"), "\x1b[2;2R");
    assert_eq!(reply(&mut screen, "\x1b[?1048h\x1b[H\x1b[?1048l\x1b[6n"), "\x1b[4;4R");
    screen.resize(hermes_tui::domain::Size { rows: 2, cols: 3 });
    assert_eq!(reply(&mut screen, "\x1b8\x1b[6n"), "\x1b[2;3R", "inside what the screen is now");
}

#[test]
fn character_sets_tabulators_insert_and_newline_mode() {
    let mut screen = screen(8, 20);
    feed(&mut screen, "\x1b(0lqk\x1b(B lqk\r\n\x1b)0a\x0eq\x0fq\r\n\x1b(A#\x1b(B#\x1b*0\x1bNqq\x1bnq\x0f\r\n");
    assert_eq!(shown(&screen)[..3], ["┌─┐ lqk", "a─q", "£#─q─"]);
    feed(&mut screen, "\x1b[2g\x1b[3g\x1b[4;4H\x1bH\rx\ty\x1b[99Cz\t\x1b[ZZ");
    assert_eq!(shown(&screen)[3], "x  Z               z");
    feed(&mut screen, "\x1b[7;1H12345678901234567890\t\tw");
    assert_eq!(shown(&screen)[6..8], ["12345678901234567890", "w"], "tabulators at the end stay there");
    feed(&mut screen, "\x1b[7;1H\x1b[J\x1b[5;1Hend\x1b[5;1H\x1b[4hABC\x1b[4l");
    assert_eq!(shown(&screen)[4], "ABCend");
    feed(&mut screen, "\x1b[20h\x1b[6;5Hx\ny\x1b[20l\nz");
    assert_eq!(shown(&screen)[5..8], ["    x", "y", " z"]);
}

#[test]
fn the_whole_screen_can_be_inverse() {
    let mut screen = screen(2, 6);
    feed(&mut screen, "a\x1b[7mb\x1b[0m");
    let mark = screen.mark();
    assert!(feed(&mut screen, "\x1b[?5h").changed);
    assert_eq!(screen.changed_since(mark).count(), 2, "every row looks different");
    assert!(screen.ansi().starts_with("\x1b[0;7ma\x1b[0mb"), "{:?}", screen.ansi());
    feed(&mut screen, "\x1b[?5l");
    assert_eq!(screen.ansi(), "a\x1b[0;7mb\x1b[0m");
}

#[test]
fn reverse_wraparound_goes_back_over_the_end_of_a_row() {
    let mut screen = screen(4, 5);
    assert_eq!(reply(&mut screen, "abcdefg\x1b[5D\x1b[6n"), "\x1b[2;1R", "off at the beginning");
    assert_eq!(reply(&mut screen, "\x1b[?45h\x1b[2;3H\x1b[4D\x1b[6n"), "\x1b[1;4R");
    assert_eq!(reply(&mut screen, "\x1b[3;1H\x08\x1b[6n"), "\x1b[3;1R", "the row before did not go on in this one");
    assert_eq!(reply(&mut screen, "\x1b[?1045h\x1b[3;1H\x08\x1b[6n"), "\x1b[2;5R");
    assert_eq!(reply(&mut screen, "\x1b[1;1H\x08\x1b[6n"), "\x1b[4;5R");
}

#[test]
fn every_mouse_mode_and_encoding() {
    let mut screen = screen(4, 20);
    for (on, tracking) in [
        ("\x1b[?1000h", MouseTracking::Click),
        ("\x1b[?1002h", MouseTracking::Drag),
        ("\x1b[?1003h", MouseTracking::Motion),
    ] {
        feed(&mut screen, on);
        assert_eq!(screen.modes().mouse, tracking);
    }
    for (on, encoding) in [
        ("\x1b[?1005h", MouseEncoding::Utf8),
        ("\x1b[?1006h", MouseEncoding::Sgr),
        ("\x1b[?1006l", MouseEncoding::Legacy),
    ] {
        feed(&mut screen, on);
        assert_eq!(screen.modes().mouse_encoding, encoding);
    }
    feed(&mut screen, "\x1b[?1003l");
    assert_eq!(screen.modes().mouse, MouseTracking::Off);
}

#[test]
fn rectangles_are_copied_filled_and_erased() {
    let mut screen = screen(5, 8);
    feed(&mut screen, "abcdefgh\r\nijklmnop\r\nqrstuvwx\r\nyz012345\x1b[H");
    feed(&mut screen, "\x1b[2;2;3;3;1;3;3;1$v");
    assert_eq!(screen.text(), "abcdefgh\nijklmnop\nqrjkuvwx\nyzrs2345");
    feed(&mut screen, "\x1b[1;1;2;2;1;1;2;1$v");
    assert_eq!(screen.text(), "aabdefgh\niijlmnop\nqrjkuvwx\nyzrs2345", "they may overlap");
    feed(&mut screen, "\x1b[35;3;5;4;99$x\x1b[1;7;2;8$z");
    assert_eq!(screen.text(), "aabdef\niijlmn\nqrjk####\nyzrs####");
    feed(&mut screen, "\x1b[2;3r\x1b[?6h\x1b[46;1;1;9;2$x\x1b[?6l\x1b[r");
    assert_eq!(screen.text(), "aabdef\n..jlmn\n..jk####\nyzrs####", "the region bounds them in origin mode");
    let before = screen.text();
    feed(
        &mut screen,
        "\x1b[3;3;2;2$z\x1b[9;9;10;10$z\x1b[7;1;1;9;9$x\x1b[1;1;2;2;1;99;99;1$v\x1b[65535;65535;65535;65535$z",
    );
    assert_eq!(screen.text(), before);
}

#[test]
fn rows_of_the_region_move_sideways() {
    let mut screen = screen(4, 8);
    feed(&mut screen, "abcdefgh\r\nijklmnop\r\nqrstuvwx\x1b[2;3r\x1b[2;3H\x1b[2 @");
    assert_eq!(screen.text(), "abcdefgh\nklmnop\nstuvwx");
    feed(&mut screen, "\x1b[ A\x1b[2;1H\x1b6");
    assert_eq!(screen.text(), "abcdefgh\n  klmnop\n  stuvwx");
    feed(&mut screen, "\x1b[1;1H\x1b[99 @\x1b6");
    assert_eq!(screen.text(), "abcdefgh\n  klmnop\n  stuvwx", "not from outside of the region");
    assert_eq!(reply(&mut screen, "\x1b[2;7H\x1b9\x1b9\x1b6\x1b[6n"), "\x1b[2;7R");
    assert_eq!(screen.text(), "abcdefgh\n klmnop\n stuvwx");
    feed(&mut screen, "\x1b[99 A");
    assert_eq!(screen.text(), "abcdefgh");
}
