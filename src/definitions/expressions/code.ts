// definitions/expressions: compiles a syntax tree to closures. At run time these look up nothing but the data's own
// properties. The supported nodes are a closed list, `Compiler.node`; any other node is refused, with its position.
import type {
  AnyNode,
  ArrayExpression,
  ArrowFunctionExpression,
  BinaryExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  Literal,
  LogicalExpression,
  MemberExpression,
  ObjectExpression,
  Property,
  SpreadElement,
  TemplateLiteral,
  UnaryExpression,
} from 'acorn'
import { getOwn, setOwn } from '../../model/json/value.ts'
import { keyOf, read, readHeader } from './access.ts'
import type { CallbackCode, Invocation, Items, Member } from './calls.ts'
import { isLoop, isMethod, itemsCode, loopCall, methodCall, methodNames, needsFunction, spreadMember } from './calls.ts'
import { linked, linkOf, SKIPPED, skips } from './chains.ts'
import { isFields, STEPS_PER_NODE, stepsOf, type Code, type Value } from './evaluation.ts'
import { looksLikeTemplate } from './foreign.ts'
import { ExpressionFault } from './expression.ts'
import { functions } from './builtins/functions.ts'
import { literalValue, templateText } from './literals.ts'
import { isHeaders, keyName, memberPath, parameterNames, staticKey } from './names.ts'
import { binaryOperators, unaryOperators } from './operators.ts'
import { misplacedFunction } from './parse.ts'
import { afterOperand, refused, unexpected, unknownName } from './unexpected.ts'
import { joined, stringify } from './values.ts'

const MAX_DEPTH = 200

/** Compiles one expression, and collects what its evaluation needs. */
export class Compiler {
  /** Free names. */
  readonly names = new Set<string>()
  /** What is read of free names: a name and constant keys. */
  readonly paths: string[][] = []
  /** Whether a quoted text contains something that looks like a placeholder. */
  quotesPlaceholder = false
  /** Steps to evaluate everything that was compiled so far once. */
  cost = 0
  private readonly source: string
  /** Parameters that are visible to the current node, with their indices in `Evaluation.parameters`. */
  private visible: ReadonlyMap<string, number> = new Map()
  /** Number of parameters of all arrow functions so far. */
  private parameters = 0
  private depth = 0

  constructor(source: string) {
    this.source = source
  }

  /**
   * Compiles a node.
   * @throws ExpressionFault for syntax that the language does not support
   */
  compile(node: AnyNode): Code {
    const code = this.link(node)
    if (!skips(node)) return code
    return (run) => {
      const value = code(run)
      return value === SKIPPED ? undefined : value
    }
  }

  /** As `compile`, for a link of a chain, whose code may return SKIPPED. */
  private link(marked: AnyNode): Code {
    const node = linkOf(marked)
    if (this.depth === MAX_DEPTH) throw new ExpressionFault(`an expression nested deeper than ${MAX_DEPTH}`, node.start)
    this.depth += 1
    this.cost += stepsOf(node)
    const code = this.node(node)
    this.depth -= 1
    return code
  }

  private node(node: AnyNode): Code {
    switch (node.type) {
      case 'Literal':
        return this.literal(node)
      case 'Identifier':
        return this.name(node.name)
      case 'MemberExpression':
        return linked(this.link(node.object), node, this.property(node))
      case 'CallExpression':
        return this.call(node)
      case 'UnaryExpression':
        return this.unary(node)
      case 'BinaryExpression':
      case 'LogicalExpression':
        return this.binary(node)
      case 'ConditionalExpression':
        return this.conditional(node)
      case 'ArrayExpression':
        return this.list(node)
      case 'ObjectExpression':
        return this.object(node)
      case 'TemplateLiteral':
        return this.template(node)
      case 'ArrowFunctionExpression':
        throw misplacedFunction(node.start)
      default:
        throw refused(node, this.source)
    }
  }

  private unary({ operator, argument, start }: UnaryExpression): Code {
    const builder = unaryOperators.get(operator)
    if (builder === undefined) throw unexpected(this.source, start)
    return builder(this.compile(argument))
  }

  private binary({ operator, left, right }: BinaryExpression | LogicalExpression): Code {
    const builder = binaryOperators.get(operator)
    if (builder === undefined) throw unexpected(this.source, afterOperand(left, this.source))
    return builder(this.compile(left), this.compile(right))
  }

  private literal(node: Literal): Code {
    const value = literalValue(node, this.source)
    if (typeof value === 'string' && looksLikeTemplate(value)) this.quotesPlaceholder = true
    return () => value
  }

  private name(name: string): Code {
    if (name === 'undefined') return () => undefined
    const place = this.visible.get(name)
    if (place !== undefined) return (run) => run.parameters[place]
    this.names.add(name)
    return (run) => run.scope.get(name)
  }

  private conditional(node: ConditionalExpression): Code {
    const test = this.compile(node.test)
    const [consequent, alternate] = [this.compile(node.consequent), this.compile(node.alternate)]
    return (run) => (test(run) ? consequent(run) : alternate(run))
  }

  private property(node: MemberExpression): Invocation {
    const name = staticKey(node, this.source)
    this.paths.push(...memberPath(node, this.source, this.visible))
    const key = name === undefined ? this.compile(node.property) : () => name
    if (isHeaders(node.object, this.source, this.visible)) return (run, target) => readHeader(run, target, key(run))
    if (name === undefined) return (run, target) => read(run, target, key(run))
    return (run, target) => (isFields(target) ? getOwn(target, name) : read(run, target, name))
  }

  private call(node: CallExpression): Code {
    const callee = linkOf(node.callee)
    if (callee.type === 'MemberExpression') return linked(this.link(callee.object), callee, this.method(callee, node))
    if (callee.type !== 'Identifier') {
      throw new ExpressionFault('only functions and methods can be called,', callee.start)
    }
    const call = functions.get(callee.name)
    if (call === undefined) throw unknownName('function', callee.name, [...functions.keys()], callee)
    const args = this.items(node.arguments, node)
    return (run) => call(run, args(run))
  }

  private method(callee: MemberExpression, node: CallExpression): Invocation {
    const name = staticKey(callee, this.source)
    if (name === undefined) throw new ExpressionFault("a method's name must be written out", callee.property.start)
    if (!isMethod(name)) throw unknownName('method', name, methodNames(), callee.property)
    const [first, ...rest] = node.arguments
    if (first?.type === 'ArrowFunctionExpression' && isLoop(name)) {
      return loopCall(name, this.callback(first), this.items(rest, node), node.optional)
    }
    if (needsFunction(name)) {
      throw new ExpressionFault(`'${name}' needs a function such as x => x.name`, callee.property.start)
    }
    return methodCall(name, this.items(node.arguments, node), node.optional)
  }

  private callback({ params, body, async: isAsync, start }: ArrowFunctionExpression): CallbackCode {
    if (isAsync) throw unexpected(this.source, start)
    const names = parameterNames(params, start)
    const { visible, cost: before, parameters: first } = this
    this.parameters += names.length
    this.visible = new Map([...visible, ...names.map((name, index) => [name, first + index] as const)])
    const code = this.compile(body)
    this.visible = visible
    const cost = this.cost - before + STEPS_PER_NODE
    return (run) =>
      (...values) => {
        run.spend(cost)
        for (let index = 0; index < names.length; index += 1) run.parameters[first + index] = values[index]
        return code(run)
      }
  }

  private items(nodes: readonly (Expression | SpreadElement | null)[], { start }: AnyNode): Items {
    return itemsCode(
      nodes.map((node) => {
        if (node === null) throw new ExpressionFault('a list with a hole', start)
        const spread = node.type === 'SpreadElement'
        return { code: this.compile(spread ? node.argument : node), spread }
      }),
    )
  }

  private list(node: ArrayExpression): Code {
    const { length } = node.elements
    const items = this.items(node.elements, node)
    return (run) => {
      run.makeElements(length)
      return run.own(items(run))
    }
  }

  private object({ properties }: ObjectExpression): Code {
    const members = properties.map((property) => this.member(property))
    return (run) => {
      const object: { [key: string]: Value } = {}
      run.makeMembers(members.length)
      for (const member of members) member(run, object)
      return run.own(object)
    }
  }

  private member(node: Property | SpreadElement): Member {
    if (node.type === 'SpreadElement') return spreadMember(this.compile(node.argument))
    if (node.kind !== 'init' || node.method) {
      throw new ExpressionFault('an object with a member that is no key and value,', node.start)
    }
    const value = this.compile(node.value)
    if (!node.computed) {
      const name = keyName(node.key, this.source)
      return (run, into) => setOwn(into, name, value(run))
    }
    const key = this.compile(node.key)
    return (run, into) => setOwn(into, keyOf(run, key(run)), value(run))
  }

  private template({ quasis, expressions }: TemplateLiteral): Code {
    return joined(
      quasis.map(templateText),
      expressions.map((expression) => this.compile(expression)),
      stringify,
    )
  }
}
