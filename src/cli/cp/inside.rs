//! What runs inside an environment for a copy: small scripts for any POSIX shell, which need `cat` for a file and `tar`
//! for a folder.
//!
//! Everything is looked up inside, so that a link there leads where it leads for the programs there. What comes in is
//! written into a folder beside its place and moved there by a second script, once all of it has come: whatever happens
//! to us in between, no half of it stands at its place.

/// Says `file MODE SIZE` or `folder` on a line, then gives the bytes of the file, or an archive of what is in the folder.
/// `$1` is the path.
pub(super) const READ: &str = r#"
p=$1
case $p in /*|./*|../*|.|..) ;; *) p=./$p ;; esac
if [ ! -e "$p" ]; then
  if [ -L "$p" ]; then echo "it is a link that leads nowhere" >&2; else echo "there is no such file or folder" >&2; fi
  exit 1
fi
if [ -d "$p" ]; then
  command -v tar >/dev/null 2>&1 || { echo "it is a folder, and there is no tar inside" >&2; exit 1; }
  cd -- "$p" || exit 1
  echo folder
  exec tar -cf - .
fi
[ -f "$p" ] || { echo "it is neither a file nor a folder" >&2; exit 1; }
[ -r "$p" ] || { echo "it may not be read" >&2; exit 1; }
m=$(stat -Lc %a -- "$p" 2>/dev/null) || { m=644; [ ! -x "$p" ] || m=755; }
z=$(wc -c < "$p" 2>/dev/null) || z=0
echo file "$m" ${z:-0}
exec cat -- "$p"
"#;

/// Takes in a file or the archive of a folder beside its place, and says on two lines where that is and which place is
/// meant. `$1` is the destination, `$2` `file` or `folder`, `$3` the name in a folder (empty: the destination itself), `$4` a word
/// that nobody else uses, `$5` the mode of the file.
pub(super) const STAGE: &str = r#"
d=$1 kind=$2 n=$3 id=$4 mode=$5
fail() { echo "$1" >&2; exit 1; }
case $d in /*|./*|../*|.|..) ;; *) d=./$d ;; esac
t=$d
if [ -d "$d" ]; then
  [ -z "$n" ] || t=${d%/}/$n
else
  case $d in */) fail "there is no such folder" ;; esac
fi
case $t in */?*) par=${t%/*}; [ -n "$par" ] || par=/ ;; *) par=. ;; esac
[ -d "$par" ] || fail "there is no folder $par"
if [ "$kind" = file ]; then
  [ ! -d "$t" ] || fail "$t is a folder, and a file cannot take its place"
else
  command -v tar >/dev/null 2>&1 || fail "a folder needs tar, and there is none inside"
  if [ -e "$t" ] || [ -L "$t" ]; then [ -d "$t" ] || fail "$t is no folder, and a folder cannot take its place"; fi
  [ ! -d "$t" ] || par=$t
fi
s=${par%/}/.hermes-tui-cp-$id
(umask 077; mkdir -- "$s") || exit 1
trap 'chmod -R u+rwx -- "$s" 2>/dev/null; rm -rf -- "$s"' EXIT
trap 'exit 143' HUP INT TERM
printf '%s\n%s\n' "$s" "$t"
if [ "$kind" = file ]; then
  cat > "$s/data" && chmod "$mode" "$s/data" || exit 1
else
  mkdir "$s/data" && tar -xpof - -C "$s/data" || exit 1
fi
trap - EXIT
"#;

/// Moves what was taken in to its place; folders that are there already are filled up. `$1` is where it is, `$2` its
/// place.
pub(super) const COMMIT: &str = r#"
s=$1 t=$2
trap 'chmod -R u+rwx -- "$s" 2>/dev/null; rm -rf -- "$s"' EXIT
check() {
  if [ -d "$1" ] && [ ! -L "$1" ]; then
    if [ -d "$2" ]; then
      [ -w "$2" ] && [ -x "$2" ] || { echo "$2: Permission denied" >&2; return 1; }
      for f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
        if [ -e "$f" ] || [ -L "$f" ]; then check "$f" "$2/${f##*/}" || return 1; fi
      done
    elif [ -e "$2" ] || [ -L "$2" ]; then
      echo "$2 is no folder, and a folder cannot take its place" >&2; return 1
    fi
  elif [ -d "$2" ] && [ ! -L "$2" ]; then
    echo "$2 is a folder, and a file cannot take its place" >&2; return 1
  fi
}
place() {
  if [ -d "$1" ] && [ ! -L "$1" ] && [ -d "$2" ]; then
    for f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
      if [ -e "$f" ] || [ -L "$f" ]; then place "$f" "$2/${f##*/}" || return 1; fi
    done
  else
    [ ! -L "$2" ] || rm -f -- "$2"
    mv -f -- "$1" "$2"
  fi
}
check "$s/data" "$t" && place "$s/data" "$t"
"#;

/// Clears away what was taken in. `$1` is where it is.
pub(super) const DROP: &str = r#"rm -rf -- "$1""#;
