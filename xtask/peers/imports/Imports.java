// Where javac itself says that imports lead.
//
// usage: java ADDED Imports.java ROOT [SHARED TESTS]...
//   ADDED: --add-exports=jdk.compiler/com.sun.tools.javac.X=ALL-UNNAMED for X api and code
//   SHARED, TESTS: source roots, with colons between; each of the tests sees itself and what is shared
//
// All files of a source root are parsed and entered by the compiler with the roots that they see, their own one first,
// and with nothing else on its path; then the symbol of each import is asked for the file that it was read from. A package with
// a star is all classes that the compiler lists for it. Other mistakes, as for libraries that are not there, do not
// matter to that.

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ImportTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.TreePath;
import com.sun.source.util.Trees;
import com.sun.tools.javac.api.JavacTaskImpl;
import com.sun.tools.javac.code.Symbol.ClassSymbol;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.lang.model.element.PackageElement;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

public class Imports {
  static Path root;

  public static void main(String[] args) throws IOException {
    root = Path.of(args[0]).toRealPath();
    for (int at = 1; at < args.length; at += 2) {
      List<Path> shared = roots(args[at]);
      List<Path> all = new ArrayList<>(shared);
      all.addAll(roots(args[at + 1]));
      for (Path own : all) {
        Set<Path> seen = new LinkedHashSet<>(List.of(own));
        seen.addAll(shared);
        imports(own, seen);
      }
    }
  }

  static List<Path> roots(String list) {
    return Stream.of(list.split(":")).filter(each -> !each.isEmpty()).map(root::resolve).toList();
  }

  static void imports(Path own, Set<Path> sources) throws IOException {
    List<Path> files;
    try (Stream<Path> walk = Files.walk(own)) {
      files = walk.filter(path -> path.toString().endsWith(".java")).filter(Imports::isClass).sorted().toList();
    }
    if (files.isEmpty()) {
      return;
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
      manager.setLocationFromPaths(StandardLocation.SOURCE_PATH, sources);
      manager.setLocationFromPaths(StandardLocation.CLASS_PATH, List.of());
      List<String> options = List.of("-proc:none", "-implicit:none");
      JavacTaskImpl task =
          (JavacTaskImpl) compiler.getTask(
              Writer.nullWriter(), manager, nothing -> {}, options, null, manager.getJavaFileObjectsFromPaths(files));
      Iterable<? extends CompilationUnitTree> units = task.parse();
      task.enter(units);
      Trees trees = Trees.instance(task);
      for (CompilationUnitTree unit : units) {
        for (ImportTree tree : unit.getImports()) {
          say(Path.of(unit.getSourceFile().toUri()), tree, targets(trees, unit, tree));
        }
      }
    }
  }

  /** Without what describes a package or a module, which would make the compiler ask for other modules. */
  static boolean isClass(Path path) {
    String name = path.getFileName().toString();
    return !name.equals("module-info.java") && !name.equals("package-info.java");
  }

  /** The files that an import leads to. */
  static Set<Path> targets(Trees trees, CompilationUnitTree unit, ImportTree tree) {
    MemberSelectTree name = (MemberSelectTree) tree.getQualifiedIdentifier();
    boolean star = name.getIdentifier().contentEquals("*");
    Tree wanted = star || tree.isStatic() ? name.getExpression() : name;
    Element element = trees.getElement(TreePath.getPath(unit, wanted));
    Set<Path> files = new TreeSet<>();
    if (star && element instanceof PackageElement) {
      element.getEnclosedElements().forEach(each -> add(files, each));
    } else if (element instanceof ClassSymbol) {
      add(files, element);
    }
    return files;
  }

  static void add(Set<Path> files, Element element) {
    JavaFileObject source = ((ClassSymbol) element).outermostClass().classfile;
    if (source != null && source.getKind() == JavaFileObject.Kind.SOURCE) {
      files.add(Path.of(source.toUri()));
    }
  }

  static void say(Path file, ImportTree tree, Set<Path> targets) {
    targets.remove(file);
    String names =
        targets.stream()
            .filter(target -> target.startsWith(root))
            .map(target -> '"' + root.relativize(target).toString() + '"')
            .collect(Collectors.joining(", "));
    if (!names.isEmpty()) {
      String written = (tree.isStatic() ? "static " : "") + tree.getQualifiedIdentifier();
      String folder = written.replace("static ", "").replace(".*", "").replace('.', '/');
      boolean star = written.endsWith(".*") && !tree.isStatic();
      System.out.printf(
          "{\"file\": \"%s\", \"import\": \"%s\", \"targets\": [%s]%s}%n",
          root.relativize(file), written, names, star ? ", \"package\": \"" + folder + '"' : "");
    }
  }
}
