// The Python module `_graph`: reads blocks into the passes' plain Python objects (passes/hlo_to_loops/graph.py), and
// answers what passes ask most of operations and values. A crossing from Python for each operand, result and type of an
// operation costs five times as much as the objects.
#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <structmember.h>

namespace nb = nanobind;

namespace {

// Python's objects of operations. `nb::cast` looks the class up in its module for each of them.
class OperationClass {
public:
  OperationClass() : make(nb::module_::import_("mlir.ir").attr("Operation").attr("_CAPICreate")) {}

  nb::object object(mlir::Operation *operation) const {
    return make(nb::steal<nb::object>(mlirPythonOperationToCapsule(wrap(operation))));
  }

private:
  nb::object make;
};

// The place of a field in the objects of a class with `__slots__`.
Py_ssize_t slotOffset(nb::handle type, const char *name) {
  nb::object member = type.attr(name);
  if (Py_TYPE(member.ptr()) != &PyMemberDescr_Type)
    throw nb::type_error((std::string("expected a slot '") + name + "'").c_str());
  return reinterpret_cast<PyMemberDescrObject *>(member.ptr())->d_member->offset;
}

nb::object allocate(nb::handle type) {
  auto *cls = reinterpret_cast<PyTypeObject *>(type.ptr());
  nb::object made = nb::steal<nb::object>(cls->tp_alloc(cls, 0));
  if (!made)
    throw nb::python_error();
  return made;
}

void set(nb::handle object, const nb::object &name, nb::handle value) {
  if (PyObject_GenericSetAttr(object.ptr(), name.ptr(), value.ptr()) != 0)
    throw nb::python_error();
}

// A tuple of values made one after another; Python must not see it before it is full.
template <typename Make> nb::tuple tupleOf(size_t count, Make make) {
  nb::tuple made = nb::steal<nb::tuple>(PyTuple_New(count));
  if (!made)
    throw nb::python_error();
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(made.ptr(), i, make(i).release().ptr());
  return made;
}

// The plain values that `decode_attribute` of passes/hlo_to_loops/graph.py documents; it is asked for the rare kinds.
class AttributeDecoder {
public:
  explicit AttributeDecoder(nb::object otherwise) : otherwise(std::move(otherwise)) {}

  nb::object decode(mlir::Attribute attribute) const {
    if (auto array = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute))
      return integers(array.asArrayRef());
    if (auto array = mlir::dyn_cast<mlir::DenseI32ArrayAttr>(attribute))
      return integers(array.asArrayRef());
    if (auto array = mlir::dyn_cast<mlir::DenseBoolArrayAttr>(attribute))
      return tupleOf(array.size(), [&](size_t i) { return nb::object(nb::bool_(array[i])); });
    if (auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute))
      return tupleOf(array.size(), [&](size_t i) { return decode(array[i]); });
    if (auto string = mlir::dyn_cast<mlir::StringAttr>(attribute))
      return nb::str(string.data(), string.size());
    if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attribute))
      return nb::float_(number.getValueAsDouble());
    if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
      if (number.getValue().getBitWidth() <= 64)
        return integer(number);
    if (mlir::isa<mlir::UnitAttr>(attribute))
      return nb::bool_(true);
    return otherwise(wrap(attribute));
  }

private:
  template <typename Number> static nb::object integers(llvm::ArrayRef<Number> numbers) {
    return tupleOf(numbers.size(), [&](size_t i) { return nb::object(nb::int_(numbers[i])); });
  }

  static nb::object integer(mlir::IntegerAttr number) {
    if (number.getType().isInteger(1))
      return nb::bool_(number.getValue().isOne());
    if (number.getType().isUnsignedInteger())
      return nb::int_(number.getValue().getZExtValue());
    return nb::int_(number.getValue().getSExtValue());
  }

  friend class GraphReader;
  nb::object otherwise;
};

// The classes of tensors, nodes and regions, and what is asked of Python. One serves any number of reads.
class GraphReader {
public:
  GraphReader(nb::object tensor, nb::object node, nb::object region, nb::object attributes, nb::object describe,
              nb::object decode)
      : tensorClass(std::move(tensor)), nodeClass(std::move(node)), regionClass(std::move(region)),
        attributesClass(std::move(attributes)), describe(std::move(describe)), decoder(std::move(decode)),
        shape(slotOffset(tensorClass, "shape")), type(slotOffset(tensorClass, "type")),
        producer(slotOffset(tensorClass, "producer")), index(slotOffset(tensorClass, "index")) {}

  nb::object readBlock(MlirBlock block) const { return Reading(*this, /*isWhole=*/true).region(*unwrap(block)); }

  nb::object readOperation(MlirOperation operation) const {
    return Reading(*this, /*isWhole=*/false).node(*unwrap(operation));
  }

  // The attributes of a node. Nodes that were read together share `memo`, by the identity of MLIR's attributes, which
  // live as long as their context, and so as long as a node.
  nb::object attributesOf(nb::handle node) const {
    mlir::Operation *operation = unwrap(nb::cast<MlirOperation>(node.attr(sourceName)));
    mlir::DictionaryAttr attributes = operation->getAttrDictionary();
    return remembered(node, attributes, [&] {
      nb::dict found;
      for (mlir::NamedAttribute named : attributes)
        if (named.getName() != "value")
          found[nb::str(named.getName().data(), named.getName().size())] = decoder.decode(named.getValue());
      return attributesClass(found);
    });
  }

  // The text of the elements of a constant.
  nb::object elementsOf(nb::handle node) const {
    mlir::Operation *operation = unwrap(nb::cast<MlirOperation>(node.attr(sourceName)));
    mlir::Attribute elements = operation->getAttr("value");
    if (!elements)
      throw nb::key_error("value");
    return remembered(node, elements, [&] {
      std::string text;
      llvm::raw_string_ostream stream(text);
      elements.print(stream);
      return nb::object(nb::str(text.data(), text.size()));
    });
  }

  nb::object decode(MlirAttribute attribute) const { return decoder.decode(unwrap(attribute)); }

  // Nodes and tensors of a region know each other no more, so that nothing waits for a collection of cycles.
  void release(const nb::object &region) const {
    const nb::list nodes = nb::cast<nb::list>(region.attr(nodesName));
    for (nb::handle node : nodes) {
      for (nb::handle inner : nb::cast<nb::tuple>(node.attr(regionsName)))
        release(nb::borrow(inner));
      for (nb::handle tensor : nb::cast<nb::tuple>(node.attr(resultsName)))
        replace(tensor, producer, nb::none());
      for (const nb::object *name : {&operandsName, &resultsName, &regionsName})
        set(node, *name, empty);
    }
  }

  // The reader is a value of the Python module whose functions and classes it holds: a cycle that Python must see.
  static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self))
      return 0;
    const auto *reader = nb::inst_ptr<GraphReader>(self);
    for (const nb::object *held : {&reader->tensorClass, &reader->nodeClass, &reader->regionClass,
                                   &reader->attributesClass, &reader->describe, &reader->decoder.otherwise})
      Py_VISIT(held->ptr());
    return 0;
  }

  static int clear(PyObject *self) {
    auto *reader = nb::inst_ptr<GraphReader>(self);
    for (nb::object *held : {&reader->tensorClass, &reader->nodeClass, &reader->regionClass, &reader->attributesClass,
                             &reader->describe, &reader->decoder.otherwise})
      *held = nb::none();
    return 0;
  }

private:
  template <typename Make> nb::object remembered(nb::handle node, mlir::Attribute attribute, Make make) const {
    nb::dict memo = nb::cast<nb::dict>(node.attr(memoName));
    nb::int_ key(reinterpret_cast<uintptr_t>(attribute.getAsOpaquePointer()));
    if (PyObject *found = PyDict_GetItemWithError(memo.ptr(), key.ptr()))
      return nb::borrow(found);
    nb::object made = make();
    memo[key] = made;
    return made;
  }

  struct Reading {
    Reading(const GraphReader &reader, bool isWhole) : reader(reader), isWhole(isWhole) {}

    nb::object region(mlir::Block &block) {
      nb::object made = allocate(reader.regionClass);
      nb::list arguments, nodes, results;
      set(made, reader.argumentsName, arguments);
      set(made, reader.nodesName, nodes);
      for (mlir::BlockArgument argument : block.getArguments())
        arguments.append(define(argument, nb::none(), 0));
      for (mlir::Operation &operation : block) {
        if (isTerminator(operation)) {
          for (mlir::Value operand : operation.getOperands())
            results.append(find(operand));
          break;
        }
        nodes.append(node(operation));
      }
      set(made, reader.resultsName, results);
      return made;
    }

    nb::object node(mlir::Operation &operation) {
      nb::object made = allocate(reader.nodeClass);
      llvm::StringRef name = operation.getName().getStringRef();
      name.consume_front("hlo.");
      set(made, reader.nameName, interned(name));
      set(made, reader.operandsName,
          tupleOf(operation.getNumOperands(), [&](size_t i) { return find(operation.getOperand(i)); }));
      set(made, reader.sourceName, reader.operations.object(&operation));
      set(made, reader.resultsName,
          tupleOf(operation.getNumResults(), [&](size_t i) { return define(operation.getResult(i), made, i); }));
      nb::list regions;
      for (mlir::Region &inner : operation.getRegions())
        if (!inner.empty())
          regions.append(region(inner.front()));
      set(made, reader.regionsName, nb::tuple(regions));
      set(made, reader.memoName, memo);
      return made;
    }

    nb::object define(mlir::Value value, nb::handle producer, size_t index) {
      nb::object made = allocate(reader.tensorClass);
      const nb::tuple &parts = described(value.getType());
      reader.replace(made, reader.shape, parts[0]);
      reader.replace(made, reader.type, parts[1]);
      reader.replace(made, reader.producer, producer);
      reader.replace(made, reader.index, nb::int_(index));
      known[value] = made;
      return made;
    }

    nb::object find(mlir::Value value) {
      auto found = known.find(value);
      if (found == known.end() && !isWhole)
        return define(value, nb::none(), 0);
      if (found == known.end())
        throw nb::key_error("a value that is defined elsewhere");
      return found->second;
    }

    const nb::tuple &described(mlir::Type type) {
      auto [found, isNew] = types.try_emplace(type);
      if (isNew)
        found->second = nb::cast<nb::tuple>(reader.describe(wrap(type)));
      return found->second;
    }

    // Names are few: one string each, which is compared by its address.
    const nb::object &interned(llvm::StringRef name) {
      auto [found, isNew] = names.try_emplace(name);
      if (isNew)
        found->second = nb::steal(PyUnicode_InternFromString(name.str().c_str()));
      return found->second;
    }

    static bool isTerminator(mlir::Operation &operation) {
      llvm::StringRef name = operation.getName().getStringRef();
      return name == "hlo.return" || name == "func.return";
    }

    const GraphReader &reader;
    const bool isWhole; // whether nothing is read that is defined elsewhere
    llvm::DenseMap<mlir::Value, nb::object> known;
    llvm::DenseMap<mlir::Type, nb::tuple> types;
    llvm::StringMap<nb::object> names;
    nb::dict memo;
  };

  void replace(nb::handle object, Py_ssize_t slot, nb::handle value) const {
    auto **place = reinterpret_cast<PyObject **>(reinterpret_cast<char *>(object.ptr()) + slot);
    PyObject *before = *place;
    *place = value.inc_ref().ptr();
    Py_XDECREF(before);
  }

  static nb::object name(const char *text) { return nb::steal(PyUnicode_InternFromString(text)); }

  nb::object tensorClass, nodeClass, regionClass, attributesClass, describe;
  AttributeDecoder decoder;
  const Py_ssize_t shape, type, producer, index;
  const OperationClass operations;
  const nb::object nameName = name("name"), operandsName = name("operands"), sourceName = name("source"),
                   resultsName = name("results"), regionsName = name("regions"), argumentsName = name("arguments"),
                   nodesName = name("nodes"), memoName = name("memo");
  const nb::tuple empty;
};

PyType_Slot graphReaderSlots[] = {{Py_tp_traverse, reinterpret_cast<void *>(GraphReader::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void *>(GraphReader::clear)},
                                  {0, nullptr}};

// Loops over operands, results and uses from Python end in a C++ exception each, which costs more than the values.
nb::list objectsOf(llvm::ArrayRef<mlir::Operation *> operations) {
  const OperationClass objects;
  nb::list made;
  for (mlir::Operation *operation : operations)
    made.append(objects.object(operation));
  return made;
}

nb::list operationsIn(MlirOperation operation) {
  std::vector<mlir::Operation *> found;
  unwrap(operation)->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *inner) { found.push_back(inner); });
  return objectsOf(found);
}

nb::list operationsNamed(MlirOperation operation, const std::vector<std::string> &names) {
  llvm::StringSet<> wanted;
  for (const std::string &name : names)
    wanted.insert(name);
  std::vector<mlir::Operation *> found;
  unwrap(operation)->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *inner) {
    if (wanted.contains(inner->getName().getStringRef()))
      found.push_back(inner);
  });
  return objectsOf(found);
}

nb::list usersOf(MlirValue value, size_t most) {
  std::vector<mlir::Operation *> found;
  for (mlir::OpOperand &use : unwrap(value).getUses()) {
    if (found.size() == most)
      break;
    found.push_back(use.getOwner());
  }
  return objectsOf(found);
}

bool isUsed(MlirOperation operation) { return !unwrap(operation)->use_empty(); }

std::optional<nb::object> producerOf(MlirValue value, const std::vector<std::string> &names) {
  mlir::Operation *producer = unwrap(value).getDefiningOp();
  if (!producer || (!names.empty() && !llvm::is_contained(names, producer->getName().getStringRef())))
    return std::nullopt;
  return OperationClass().object(producer);
}

bool isCallWithEffects(mlir::Operation *operation) {
  if (operation->getName().getStringRef() != "hlo.custom_call")
    return false;
  mlir::Attribute effects = operation->getAttr("has_side_effect");
  auto flag = mlir::dyn_cast_or_null<mlir::BoolAttr>(effects);
  return flag ? flag.getValue() : static_cast<bool>(effects);
}

// Whether an operation, or one in it, does more than compute its results.
bool hasEffects(mlir::Operation *operation) {
  llvm::StringRef name = operation->getName().getStringRef();
  if (name == "builtin.module" || name == "func.func" || name == "func.return" || name == "hlo.return")
    return true;
  return operation
      ->walk([](mlir::Operation *inner) {
        return isCallWithEffects(inner) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// From the end: users go before what they use, and the operations of a region before the one that holds it.
nb::list deadOperations(MlirOperation root) {
  std::vector<mlir::Operation *> all, found;
  unwrap(root)->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *inner) { all.push_back(inner); });
  llvm::DenseSet<mlir::Operation *> dead;
  for (mlir::Operation *operation : llvm::reverse(all)) {
    if (!llvm::all_of(operation->getUsers(), [&](mlir::Operation *user) { return dead.contains(user); }) ||
        hasEffects(operation))
      continue;
    dead.insert(operation);
    found.push_back(operation);
  }
  return objectsOf(found);
}

} // namespace

NB_MODULE(_graph, module) {
  module.doc() = "Blocks of operations as plain Python objects.";
  nb::class_<GraphReader>(module, "GraphReader", nb::type_slots(graphReaderSlots))
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object, nb::object>(), nb::arg("tensor"),
           nb::arg("node"), nb::arg("region"), nb::arg("attributes"), nb::arg("describe"), nb::arg("decode"))
      .def("read_block", &GraphReader::readBlock, nb::arg("block"))
      .def("read_operation", &GraphReader::readOperation, nb::arg("operation"))
      .def("attributes_of", &GraphReader::attributesOf, nb::arg("node"))
      .def("elements_of", &GraphReader::elementsOf, nb::arg("node"))
      .def("decode", &GraphReader::decode, nb::arg("attribute"))
      .def("release", &GraphReader::release, nb::arg("region"));
  module.def("operations_in", &operationsIn, nb::arg("operation"),
             "An operation and every one in it, outer ones first, in order.");
  module.def("operations_named", &operationsNamed, nb::arg("operation"), nb::arg("names"),
             "The operations in and including one that have one of these names, outer ones first, in order.");
  module.def("users_of", &usersOf, nb::arg("value"), nb::arg("most") = SIZE_MAX,
             "The operations that read a value, one for each operand, at most so many.");
  module.def("is_used", &isUsed, nb::arg("operation"), "Whether anything reads a result of an operation.");
  module.def("producer_of", &producerOf, nb::arg("value"), nb::arg("names"),
             "The operation that computes a value, if it has one of the names, of which none stand for any.");
  module.def(
      "has_effects", [](MlirOperation operation) { return hasEffects(unwrap(operation)); }, nb::arg("operation"),
      "Whether an operation, or one in it, does more than compute its results.");
  module.def("dead_operations", &deadOperations, nb::arg("root"),
             "The operations in one that nothing needs, users before what they use.");
}
