//! JavaScript, TypeScript, Python, Ruby, PHP and shells.

use super::Made;

#[test]
fn the_documents_example() {
    let made = Made::of(&[
        (
            "src/server/auth/AuthService.ts",
            "import { TokenManager } from \"./TokenManager\";\nimport { UserRepository } from \"../users/UserRepository\";\n\
             import fs from \"fs\";\n",
        ),
        ("src/server/auth/TokenManager.ts", "import { helper } from \"./helper\";\n"),
        ("src/server/auth/helper.ts", ""),
        ("src/server/users/UserRepository.ts", "users"),
    ]);
    let found = made.dependencies("src/server/auth/AuthService.ts");
    let included: Vec<_> = found.included.iter().map(|found| (found.path.as_str(), found.kind.as_str())).collect();
    assert_eq!(
        included,
        [("src/server/auth/TokenManager.ts", "import"), ("src/server/users/UserRepository.ts", "import")]
    );
    assert_eq!(found.included[1].content, "users");
    assert_eq!(made.left_out("src/server/auth/AuthService.ts"), ["fs external"]);
}

#[test]
fn typescript_paths_and_endings() {
    let made = Made::of(&[
        (
            "src/main.ts",
            "import './a';\nimport './b.js';\nimport './c';\nimport './d';\nimport './e.mjs';\nimport './data.json';\nimport '.';\n\
             import './style.css';\nimport './icon.svg?raw';\nimport './f.jsx';\nimport './gone';\nimport './own.service';\n\
             import './g/';\n",
        ),
        ("src/a.ts", ""),
        ("src/a.js", ""),
        ("src/b.ts", ""),
        ("src/c.tsx", ""),
        ("src/d/index.ts", ""),
        ("src/e.mts", ""),
        ("src/data.json", "{}"),
        ("src/index.ts", ""),
        ("src/style.css", ""),
        ("src/icon.svg", ""),
        ("src/f.tsx", ""),
        ("src/own.service.ts", ""),
        ("src/g.ts", ""),
        ("src/g/package.json", r#"{"main": "./entry.js"}"#),
        ("src/g/entry.ts", ""),
    ]);
    let included = made.included("src/main.ts");
    let expected = "src/a.ts src/b.ts src/c.tsx src/d/index.ts src/e.mts src/data.json src/index.ts src/style.css \
                    src/icon.svg src/f.tsx src/own.service.ts src/g/entry.ts";
    assert_eq!(included.join(" "), expected);
    assert_eq!(made.left_out("src/main.ts"), ["./gone not_found"]);
}

#[test]
fn declarations_name_what_they_were_made_from() {
    let made = Made::of(&[
        ("dist/a.d.ts", "import './b.ts';\nimport './c.js';\nimport './d.mts';\n"),
        ("dist/b.d.ts", ""),
        ("dist/c.d.ts", ""),
        ("dist/d.d.mts", ""),
    ]);
    assert_eq!(made.included("dist/a.d.ts"), ["dist/b.d.ts", "dist/c.d.ts", "dist/d.d.mts"]);
}

#[test]
fn javascript_prefers_javascript() {
    let made = Made::of(&[
        ("a.js", "const b = require('./b');\nmodule.exports = import('./c');\n"),
        ("b.js", ""),
        ("b.ts", ""),
        ("c.ts", ""),
    ]);
    assert_eq!(made.included("a.js"), ["b.js", "c.ts"]);
}

#[test]
fn tsconfig_paths_base_url_and_extends() {
    let made = Made::of(&[
        (
            "tsconfig.base.json",
            "{ // all\n \"compilerOptions\": {\"baseUrl\": \".\", \"paths\": {\"@lib/*\": [\"libs/*/src\"],},},}",
        ),
        (
            "app/tsconfig.json",
            "{\"extends\": \"../tsconfig.base\", \"compilerOptions\": {/* more */ \"target\": \"es2022\"}}",
        ),
        ("app/src/main.ts", "import '@lib/ui';\nimport 'shared/x';\nimport '@lib/none';\nimport 'react';\n"),
        ("libs/ui/src/index.ts", ""),
        ("shared/x.ts", ""),
        ("web/tsconfig.json", "{\"files\": [], \"references\": [{\"path\": \"./tsconfig.app.json\"}]}"),
        (
            "web/tsconfig.app.json",
            "{\"compilerOptions\": {\"paths\": {\"@/*\": [\"./gone/*\", \"./src/*\"], \"@/exact\": [\"./src/other.ts\"]}}}",
        ),
        ("web/src/main.ts", "import '@/a';\nimport '@/exact';\n"),
        ("web/src/a.ts", ""),
        ("web/src/exact.ts", ""),
        ("web/src/other.ts", ""),
    ]);
    assert_eq!(made.included("app/src/main.ts"), ["libs/ui/src/index.ts", "shared/x.ts"]);
    assert_eq!(made.left_out("app/src/main.ts"), ["@lib/none not_found", "react external"]);
    assert_eq!(made.included("web/src/main.ts"), ["web/src/a.ts", "web/src/other.ts"]);
}

#[test]
fn packages_of_a_workspace() {
    let made = Made::of(&[
        ("package.json", r#"{"name": "all", "workspaces": ["packages/*"]}"#),
        (
            "packages/ui/package.json",
            r#"{"name": "@acme/ui", "exports": {".": {"types": "./dist/index.d.ts"}, "./*": "./dist/*.js"}}"#,
        ),
        ("packages/ui/src/index.ts", ""),
        ("packages/ui/src/button.tsx", ""),
        ("packages/old/package.json", r##"{"name": "old", "main": "lib/main.js", "imports": {"#x": "./lib/x.js"}}"##),
        ("packages/old/lib/main.js", "require('#x'); require('old/lib/y');\n"),
        ("packages/old/lib/x.js", ""),
        ("packages/old/lib/y.js", ""),
        ("packages/app/package.json", r#"{"name": "app"}"#),
        ("packages/app/main.ts", "import '@acme/ui';\nimport '@acme/ui/button';\nimport 'old';\nimport 'stray';\n"),
        ("fixtures/stray/package.json", r#"{"name": "stray", "main": "i.js"}"#),
        ("fixtures/stray/i.js", ""),
    ]);
    assert_eq!(
        made.included("packages/app/main.ts"),
        ["packages/ui/src/index.ts", "packages/ui/src/button.tsx", "packages/old/lib/main.js"]
    );
    assert_eq!(made.left_out("packages/app/main.ts"), ["stray external"]);
    assert_eq!(made.included("packages/old/lib/main.js"), ["packages/old/lib/x.js", "packages/old/lib/y.js"]);
}

#[test]
fn python_packages() {
    let made = Made::of(&[
        ("pyproject.toml", ""),
        ("src/shop/__init__.py", ""),
        (
            "src/shop/cart.py",
            "import os\nimport shop.models.item\nfrom . import money, missing_name\nfrom .models import item, Order\n\
             from .. import gone\nfrom shop import money as again\nimport requests.adapters\nfrom ns.deep import thing\n",
        ),
        ("src/shop/money.py", ""),
        ("src/shop/models/__init__.py", ""),
        ("src/shop/models/item.py", ""),
        ("src/ns/deep/thing.py", ""),
        (
            "tests/test_cart.py",
            "from shop.cart import Cart\nfrom helpers import make\nimport conftest\nimport shop.types.x\n",
        ),
        ("tests/helpers.py", ""),
        ("tests/conftest.py", ""),
        ("src/shop/types.py", ""),
        ("src/shop/up.py", "from ....x import y\nimport types\nfrom .money import *\n"),
        ("src/stubs/__init__.pyi", ""),
        ("tests/apps/__init__.py", ""),
        ("tests/apps/shop.py", "from shop import Shop\nimport beside\n"),
        ("tests/apps/beside.py", ""),
        ("src/app.py", "import stubs\nimport shop\nimportlib.import_module('shop.cart')\n"),
    ]);
    assert_eq!(
        made.included("src/shop/cart.py"),
        [
            "src/shop/models/item.py",
            "src/shop/__init__.py",
            "src/shop/money.py",
            "src/shop/models/__init__.py",
            "src/ns/deep/thing.py",
        ]
    );
    assert_eq!(made.left_out("src/shop/cart.py"), ["os external", ".. not_found", "requests.adapters external"]);
    assert_eq!(made.included("tests/test_cart.py"), ["src/shop/cart.py", "tests/helpers.py", "tests/conftest.py"]);
    assert_eq!(
        made.included("tests/apps/shop.py"),
        ["src/shop/__init__.py", "tests/apps/beside.py"],
        "not the file itself; beside it only what is nowhere else"
    );
    assert_eq!(made.included("src/shop/up.py"), ["src/shop/money.py"]);
    assert_eq!(made.left_out("src/shop/up.py"), ["....x refused", "types external"]);
    assert_eq!(made.included("src/app.py"), ["src/stubs/__init__.pyi", "src/shop/__init__.py", "src/shop/cart.py"]);
}

#[test]
fn ruby() {
    let made = Made::of(&[
        ("shop.gemspec", ""),
        ("lib/shop.rb", "require 'shop/cart'\nrequire 'json'\nautoload :Money, 'shop/money'\n"),
        ("lib/shop/cart.rb", "require_relative 'money'\nrequire_relative 'gone'\nload './lib/x.rb'\n"),
        ("lib/shop/money.rb", ""),
        ("Rakefile", "require './lib/shop'\n"),
        ("spec/cart_spec.rb", "require 'spec_helper'\nrequire 'shop'\n"),
        ("spec/spec_helper.rb", ""),
    ]);
    assert_eq!(made.included("lib/shop.rb"), ["lib/shop/cart.rb", "lib/shop/money.rb"]);
    assert_eq!(made.left_out("lib/shop.rb"), ["json external"]);
    assert_eq!(made.included("lib/shop/cart.rb"), ["lib/shop/money.rb"]);
    assert_eq!(made.left_out("lib/shop/cart.rb"), ["gone not_found", "./lib/x.rb not_found"]);
    assert_eq!(made.included("Rakefile"), ["lib/shop.rb"]);
    assert_eq!(made.included("spec/cart_spec.rb"), ["spec/spec_helper.rb", "lib/shop.rb"]);
}

#[test]
fn php() {
    let made = Made::of(&[
        (
            "composer.json",
            r#"{"autoload": {"psr-4": {"App\\": "src/", "App\\Deep\\": ["deep/", "deeper/"]}, "psr-0": {"Old_": "old/"}}}"#,
        ),
        (
            "src/Controller/Home.php",
            "<?php\nnamespace App\\Controller;\nuse App\\Model\\{User, Gone};\nuse App\\Deep\\X;\nuse Symfony\\Y;\n\
             require __DIR__ . '/../helpers.php';\nrequire 'config/app.php';\n",
        ),
        ("src/Model/User.php", "<?php\n"),
        ("deeper/X.php", "<?php\n"),
        ("src/helpers.php", "<?php\n"),
        ("config/app.php", "<?php\n"),
    ]);
    assert_eq!(
        made.included("src/Controller/Home.php"),
        ["src/Model/User.php", "deeper/X.php", "src/helpers.php", "config/app.php"]
    );
    assert_eq!(made.left_out("src/Controller/Home.php"), [r"App\Model\Gone not_found", r"Symfony\Y external"]);
}

#[test]
fn shell_scripts() {
    let made = Made::of(&[
        (
            "scripts/release",
            "#!/usr/bin/env bash\nsource \"$(dirname \"$0\")/lib/log.sh\"\n. scripts/lib/git.sh\nsource \"$ROOT/scripts/env.sh\"\n\
             source \"$ELSEWHERE/no.sh\"\nsource ./gone.sh\nsource /etc/profile\n",
        ),
        ("scripts/lib/log.sh", ""),
        ("scripts/lib/git.sh", ""),
        ("scripts/env.sh", ""),
    ]);
    assert_eq!(made.included("scripts/release"), ["scripts/lib/log.sh", "scripts/lib/git.sh", "scripts/env.sh"]);
    assert_eq!(
        made.left_out("scripts/release"),
        ["$ELSEWHERE/no.sh external", "./gone.sh not_found", "/etc/profile external"]
    );
}
