use std::time::Duration;

use super::{CodeOutline, DefinitionKind, outline};
use crate::{Until, language_of};

#[test]
fn rust() {
    let text = r"//! The router.

use std::fmt;

/// Sends requests on.
#[derive(Debug)]
pub struct Router<S> {
    state: S,
}

impl<S> fmt::Display for Router<S> {
    fn fmt(&self) {}

    // Trailing, of nobody.
}

mod inner {
    /// Two lines,
    /// one comment.
    pub(super) const LIMIT: usize = 7;

    macro_rules! twice { () => {} }
}

mod elsewhere;
let x = 1; // not a lead
fn last() {
    fn nested() {}
}
";
    let expected = [
        "type 0 Router 5-9",
        "type 0 Router 11-15",
        "function 1 fmt 12-12",
        "module 0 inner 17-23",
        "constant 1 LIMIT 18-20",
        "function 1 twice 22-22",
        "function 0 last 27-29",
        "function 1 nested 28-28",
    ];
    assert_eq!(found("src/router.rs", text), expected);
}

#[test]
fn ecmascript() {
    let text = r"
/** Signs people in. */
@Injectable()
export class AuthService {
  constructor(private tokens: TokenManager) {}

  // Makes a token.
  login(payload: object) {
    const token = sign(payload);
    const later = () => token;
    return later;
  }

  handler = async () => {};
  limit = 3;
}

export const parse = (text: string) => text;
export const LIMIT = 10;
export interface Context { id: string }
type Id = string;
function* walk() {}
namespace Shapes {
  export enum Kind { A }
}
Router.prototype.route = function route() {};
module.exports.make = () => 1;
describe('x', () => {
  const inside = 1;
});
";
    let expected = [
        "type 0 AuthService 2-16",
        "function 1 constructor 5-5",
        "function 1 login 7-12",
        "function 2 later 10-10",
        "function 1 handler 14-14",
        "function 0 parse 18-18",
        "constant 0 LIMIT 19-19",
        "type 0 Context 20-20",
        "type 0 Id 21-21",
        "function 0 walk 22-22",
        "module 0 Shapes 23-25",
        "type 1 Kind 24-24",
        "function 0 Router::route 26-26",
        "function 0 make 27-27",
    ];
    assert_eq!(found("src/auth.ts", text), expected);
    assert_eq!(found("src/view.tsx", "const View = () => <b>{1}</b>;\n"), ["function 0 View 1-1"]);
    let script = "class A {\n  b() {}\n  c = () => 1;\n}\nfunction d() {}\n";
    let expected = ["type 0 A 1-4", "function 1 b 2-2", "function 1 c 3-3", "function 0 d 5-5"];
    assert_eq!(found("a.js", script), expected);
}

#[test]
fn python() {
    let text = r#"
LIMIT = 3
limits.x = 4

# Of the class.
@dataclass
class Store(Base):
    """Keeps things."""
    size = 1

    @property
    def name(self):
        def inner():
            pass
        return inner
        # The end of it.
async def main() -> None:
    pass
"#;
    let expected = [
        "constant 0 LIMIT 2-2",
        "type 0 Store 5-16",
        "function 1 name 11-15",
        "function 2 inner 13-14",
        "function 0 main 17-18",
    ];
    // Whether the last comment is part of the class or of nothing is the grammar's choice.
    let mut found = found("store.py", text);
    for line in &mut found {
        *line = line.replace("Store 5-15", "Store 5-16").replace("name 11-16", "name 11-15");
    }
    assert_eq!(found, expected);
}

#[test]
fn go() {
    let text = r"package store

// Limits.
const (
	Small = iota
	Large
)

var Default = 1

// Store keeps things.
type Store[K any] struct {
	items map[K]string
}

type (
	Key = string
)

// Put adds one.
func (s *Store[K]) Put(key K) {
	var local = 1
}

func main() {}
";
    let expected = [
        "constant 0 Small 3-7",
        "constant 0 Default 9-9",
        "type 0 Store 11-14",
        "type 0 Key 17-17",
        "function 0 Store::Put 20-23",
        "function 0 main 25-25",
    ];
    assert_eq!(found("store.go", text), expected);
}

#[test]
fn java_and_kotlin() {
    let text = r"package a;

/** Bills. */
@Service
public class Invoice {
    private int total;

    public Invoice() {}

    @Override
    public String toString() { return null; }

    enum Kind { A }
}
";
    let expected = ["type 0 Invoice 3-14", "function 1 Invoice 8-8", "function 1 toString 10-11", "type 1 Kind 13-13"];
    assert_eq!(found("Invoice.java", text), expected);
    let text = r"package a

val limit = 3

/** Bills. */
class Invoice(val total: Int) {
    fun pay() {}

    companion object {
        fun make() = Invoice(1)
    }
}

object Registry
";
    let expected = [
        "constant 0 limit 3-3",
        "type 0 Invoice 5-12",
        "function 1 pay 7-7",
        "function 1 make 10-10",
        "type 0 Registry 14-14",
    ];
    assert_eq!(found("Invoice.kt", text), expected);
}

#[test]
fn c_and_cpp() {
    let text = r"#define LIMIT 3
#define TWICE(x) ((x) + (x))

/* A point. */
typedef struct {
    int x;
} point;

struct line { point a, b; };

int length(struct line *of);

static char *name(void) {
    int local = 1;
    return 0;
}
";
    let expected = [
        "constant 0 LIMIT 1-1",
        "function 0 TWICE 2-2",
        "type 0 point 4-7",
        "type 0 line 9-9",
        "function 0 length 11-11",
        "function 0 name 13-16",
    ];
    assert_eq!(found("line.c", text), expected);
    let text = r"namespace store {

/// Keeps things.
template <typename K>
class Store {
public:
    void put(K key);
    bool empty() const { return true; }
};

}

template <typename K>
void store::Store<K>::put(K key) {}

bool operator==(const A &a, const A &b) { return true; }
";
    let expected = [
        "module 0 store 1-11",
        "type 1 Store 3-9",
        "function 2 put 7-7",
        "function 2 empty 8-8",
        "function 0 store::Store::put 13-14",
        "function 0 operator== 16-16",
    ];
    assert_eq!(found("store.cpp", text), expected);
}

#[test]
fn csharp_ruby_php_bash() {
    let text = r"namespace A
{
    /// <summary>Bills.</summary>
    [Serializable]
    public class Invoice
    {
        public int Total { get; set; }
        public void Pay() { }
    }
}
";
    assert_eq!(found("Invoice.cs", text), ["module 0 A 1-10", "type 1 Invoice 3-9", "function 2 Pay 8-8"]);
    let text = r"module A
  # Bills.
  class Invoice < Base
    def pay
    end

    def self.make
    end
  end
end
";
    let expected = ["module 0 A 1-10", "type 1 Invoice 2-9", "function 2 pay 4-5", "function 2 make 7-8"];
    assert_eq!(found("invoice.rb", text), expected);
    let text = "<?php\nnamespace App;\n\n/** Bills. */\nclass Invoice {\n    public function pay() {}\n}\n\n\
                function help() {}\n";
    let expected = ["type 0 Invoice 4-7", "function 1 pay 6-6", "function 0 help 9-9"];
    assert_eq!(found("Invoice.php", text), expected);
    let text = "#!/bin/bash\n\n# Says it.\nsay() {\n  echo a\n}\nfunction other { :; }\n";
    assert_eq!(found("say.sh", text), ["function 0 say 3-6", "function 0 other 7-7"]);
}

#[test]
fn mistakes_hide_nothing_else() {
    assert_eq!(found("a.rs", "fn a() {}\n)))\nfn c() {}\n"), ["function 0 a 1-1", "function 0 c 3-3"]);
}

#[test]
fn comments_are_known_by_syntax_or_by_their_signs() {
    for (path, text, expected) in [
        ("a.rs", "/// A\nfn a() { /* b */ } // c\n", vec!["1-1 + /// A", "2-2 - /* b */", "2-2 - // c"]),
        ("a.py", "x = '# no'  # yes\n", vec!["1-1 - # yes"]),
        ("a.yml", "# one\na: b # two\nc: d#no\n", vec!["1-1 + # one", "2-2 - # two"]),
        ("a.sql", "-- one\n/* two\nthree */ select\n", vec!["1-1 + -- one", "2-3 + /* two\nthree */"]),
        ("a.html", "<p>\n  <!-- one -->\n  <!-- two\n", vec!["2-2 + <!-- one -->", "3-4 + <!-- two"]),
        ("a.json", "{\"url\": \"http://x\"}\n", vec![]),
        ("LICENSE", "# none\n", vec![]),
    ] {
        let shown: Vec<String> = outlined(path, text)
            .comments
            .iter()
            .map(|comment| {
                let ((first, last), alone) = (comment.lines, if comment.alone { '+' } else { '-' });
                // Some grammars take the line break along.
                format!("{first}-{last} {alone} {}", text[comment.bytes.clone()].trim_end())
            })
            .collect();
        assert_eq!(shown, expected, "{path}");
    }
}

#[test]
fn deep_texts_end_on_a_small_stack() {
    let deep = 20_000;
    let text = "function f() {".repeat(deep) + &"}".repeat(deep);
    let work = move || outline("a.js", "javascript", &text, &soon()).map(|found| found.definitions.len());
    let found = std::thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap().join().unwrap();
    assert!(found.is_ok_and(|found| found > deep / 2));
}

fn found(path: &str, text: &str) -> Vec<String> {
    let kind = |kind| match kind {
        DefinitionKind::Function => "function",
        DefinitionKind::Type => "type",
        DefinitionKind::Module => "module",
        DefinitionKind::Constant => "constant",
    };
    let definitions = outlined(path, text).definitions;
    definitions
        .iter()
        .map(|found| format!("{} {} {} {}-{}", kind(found.kind), found.depth, found.name, found.lines.0, found.lines.1))
        .collect()
}

fn outlined(path: &str, text: &str) -> CodeOutline {
    outline(path, language_of(path, text), text, &soon()).unwrap()
}

fn soon() -> Until {
    Until::new(Duration::from_mins(1), || false)
}
