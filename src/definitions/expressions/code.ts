// definitions/expressions: from syntax tree to code: closures over data, with nothing left to look up but the data's own properties.
// Which nodes there are is a closed list: `Compiler.node`. All others are refused, with their place.
import type {
  AnyNode, ArrayExpression, ArrowFunctionExpression, CallExpression, ConditionalExpression, Expression, Literal, MemberExpression, ObjectExpression,
  Property, SpreadElement, TemplateLiteral,
} from 'acorn'
import { getOwn, setOwn } from '../../model/json.ts'
import { keyOf, read, readHeader } from './access.ts'
import type { CallbackCode, Invocation, Items, Member } from './calls.ts'
import { isLoop, isMethod, itemsCode, loopCall, methodCall, methodNames, needsFunction, spreadMember } from './calls.ts'
import { linked, linkOf, SKIPPED, skips } from './chains.ts'
import type { Code, Value } from './evaluation.ts'
import { isFields } from './evaluation.ts'
import { looksLikeTemplate } from '../foreign.ts'
import { suggestion } from '../../model/nearest.ts'
import { ExpressionFault } from './expression.ts'
import { functions } from './functions.ts'
import { binaryOperators, unaryOperators } from './operators.ts'
import { unexpected } from './parse.ts'
import { join, textOf } from './values.ts'

const MAX_DEPTH = 200
const MAX_PARAMETERS = 4
const AFTER_OPERAND = /[\s)]*/y
/** A number as most languages write it. */
const DECIMAL = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const OLD_OCTAL = /^0\d/
const OCTAL_ESCAPE = /\\(?:[1-9]|0\d)/
/** Of the evaluation of a node. A call makes a list of its arguments, and has work of its own. */
const STEPS_A_NODE = 1
const STEPS_A_PROPERTY = 2
const STEPS_A_CALL = 5

/** Compiles one expression, and gathers what it needs to run. */
export class Compiler {
  /** Free names. */
  readonly names = new Set<string>()
  /** Whether a text in quotes holds what looks like a placeholder. */
  quotesPlaceholder = false
  /** Steps to evaluate what was compiled so far, once. */
  cost = 0
  private readonly source: string
  /** The parameters that the present node sees, with their places in an evaluation. */
  private visible: ReadonlyMap<string, number> = new Map()
  /** How many parameters its arrow functions have together, so far. */
  private parameters = 0
  private depth = 0

  constructor(source: string) {
    this.source = source
  }

  /** @throws ExpressionFault for what the language lacks */
  compile(node: AnyNode): Code {
    const code = this.link(node)
    if (!skips(node)) return code
    return (run) => {
      const value = code(run)
      return value === SKIPPED ? undefined : value
    }
  }

  /** As `compile`, but for a link of a chain, which may give SKIPPED. */
  private link(marked: AnyNode): Code {
    const node = linkOf(marked)
    if (this.depth === MAX_DEPTH) throw new ExpressionFault(`an expression nested deeper than ${MAX_DEPTH}`, node.start)
    this.depth += 1
    this.cost += node.type === 'CallExpression' ? STEPS_A_CALL : node.type === 'MemberExpression' ? STEPS_A_PROPERTY : STEPS_A_NODE
    const code = this.node(node)
    this.depth -= 1
    return code
  }

  private node(node: AnyNode): Code {
    switch (node.type) {
      case 'Literal': return this.literal(node)
      case 'Identifier': return this.name(node.name)
      case 'MemberExpression': return linked(this.link(node.object), node, this.property(node))
      case 'CallExpression': return this.call(node)
      case 'UnaryExpression': return this.operator(unaryOperators.get(node.operator), node.start)(this.compile(node.argument))
      case 'BinaryExpression':
      case 'LogicalExpression':
        return this.operator(binaryOperators.get(node.operator), this.after(node.left))(this.compile(node.left), this.compile(node.right))
      case 'ConditionalExpression': return this.conditional(node)
      case 'ArrayExpression': return this.list(node)
      case 'ObjectExpression': return this.object(node)
      case 'TemplateLiteral': return this.template(node)
      case 'ArrowFunctionExpression':
        throw new ExpressionFault('a function can only be the first argument of a method such as map,', node.start)
      default: throw this.refused(node)
    }
  }

  private refused(node: AnyNode): ExpressionFault {
    switch (node.type) {
      case 'AssignmentExpression': return unexpected(this.source, this.after(node.left))
      case 'UpdateExpression': return unexpected(this.source, node.prefix ? node.start : this.after(node.argument))
      case 'SequenceExpression': return unexpected(this.source, this.after(node.expressions[0]))
      case 'TaggedTemplateExpression': return new ExpressionFault('a template with a tag', node.quasi.start)
      default: return unexpected(this.source, node.start)
    }
  }

  /** Where the token after an operand is. */
  private after(operand: AnyNode | undefined): number {
    AFTER_OPERAND.lastIndex = operand?.end ?? 0
    AFTER_OPERAND.test(this.source)
    return AFTER_OPERAND.lastIndex
  }

  private operator<T>(builder: T | undefined, at: number): T {
    if (builder === undefined) throw unexpected(this.source, at)
    return builder
  }

  private literal(node: Literal): Code {
    const value = this.valueOf(node)
    if (typeof value === 'string' && looksLikeTemplate(value)) this.quotesPlaceholder = true
    return () => value
  }

  private valueOf({ value, raw = '', start }: Literal): string | number | boolean | null {
    if (typeof value === 'string' && OCTAL_ESCAPE.test(raw.replaceAll('\\\\', '__'))) throw new ExpressionFault(`a malformed escape in ${raw}`, start)
    if (typeof value === 'number' && (!DECIMAL.test(raw) || OLD_OCTAL.test(raw))) throw new ExpressionFault(`not a decimal number: ${raw}`, start)
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
    throw unexpected(this.source, start)
  }

  private name(name: string): Code {
    if (name === 'undefined') return () => undefined
    const place = this.visible.get(name)
    if (place !== undefined) return (run) => run.parameters[place]
    this.names.add(name)
    return (run) => run.scope.get(name)
  }

  private conditional(node: ConditionalExpression): Code {
    const [test, consequent, alternate] = [this.compile(node.test), this.compile(node.consequent), this.compile(node.alternate)]
    return (run) => test(run) ? consequent(run) : alternate(run)
  }

  private property(node: MemberExpression): Invocation {
    const name = this.staticKey(node)
    const key = name === undefined ? this.compile(node.property) : () => name
    if (this.isHeaders(node.object)) return (run, target) => readHeader(run, target, key(run))
    if (name === undefined) return (run, target) => read(run, target, key(run))
    return (run, target) => isFields(target) ? getOwn(target, name) : read(run, target, name)
  }

  /** The key that a member expression writes out. */
  private staticKey({ computed, property }: MemberExpression): string | undefined {
    if (!computed) return property.type === 'Identifier' ? property.name : undefined
    if (property.type !== 'Literal') return undefined
    const value = this.valueOf(property)
    return typeof value === 'string' ? value : undefined
  }

  /** `$request.headers`, or the response's, in any way of writing it. */
  private isHeaders(object: AnyNode): boolean {
    const node = linkOf(object)
    return node.type === 'MemberExpression' && this.staticKey(node) === 'headers' && node.object.type === 'Identifier'
      && !this.visible.has(node.object.name) && (node.object.name === '$request' || node.object.name === '$response')
  }

  private call(node: CallExpression): Code {
    const callee = linkOf(node.callee)
    if (callee.type === 'MemberExpression') return linked(this.link(callee.object), callee, this.method(callee, node))
    if (callee.type !== 'Identifier') throw new ExpressionFault('only functions and methods can be called,', callee.start)
    const call = functions.get(callee.name)
    if (call === undefined) throw unknown('function', callee.name, [...functions.keys()], callee)
    const args = this.items(node.arguments, node)
    return (run) => call(run, args(run))
  }

  private method(callee: MemberExpression, node: CallExpression): Invocation {
    const name = this.staticKey(callee)
    if (name === undefined) throw new ExpressionFault("a method's name must be written out", callee.property.start)
    if (!isMethod(name)) throw unknown('method', name, methodNames(), callee.property)
    const [first, ...rest] = node.arguments
    if (first?.type === 'ArrowFunctionExpression' && isLoop(name)) return loopCall(name, this.callback(first), this.items(rest, node), node.optional)
    if (needsFunction(name)) throw new ExpressionFault(`'${name}' needs a function such as x => x.name`, callee.property.start)
    return methodCall(name, this.items(node.arguments, node), node.optional)
  }

  private callback({ params, body, async: isAsync, start }: ArrowFunctionExpression): CallbackCode {
    if (isAsync) throw unexpected(this.source, start)
    const names = params.map((param) => param.type === 'Identifier' ? param.name : 'undefined')
    if (names.includes('undefined') || new Set(names).size < names.length || names.length > MAX_PARAMETERS) {
      throw new ExpressionFault(`a function has up to ${MAX_PARAMETERS} parameters, different plain names,`, start)
    }
    const { visible, cost: before, parameters: first } = this
    this.parameters += names.length
    this.visible = new Map([...visible, ...names.map((name, index) => [name, first + index] as const)])
    const code = this.compile(body)
    this.visible = visible
    const cost = this.cost - before + STEPS_A_NODE
    return (run) => (...values) => {
      run.spend(cost)
      for (let index = 0; index < names.length; index += 1) run.parameters[first + index] = values[index]
      return code(run)
    }
  }

  private items(nodes: readonly (Expression | SpreadElement | null)[], { start }: AnyNode): Items {
    return itemsCode(nodes.map((node) => {
      if (node === null) throw new ExpressionFault('a list with a hole', start)
      const spread = node.type === 'SpreadElement'
      return { code: this.compile(spread ? node.argument : node), spread }
    }))
  }

  private list(node: ArrayExpression): Code {
    const { elements } = node
    const items = this.items(elements, node)
    return (run) => {
      run.makeElements(elements.length)
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
    if (node.kind !== 'init' || node.method) throw new ExpressionFault('an object with a member that is no key and value,', node.start)
    const value = this.compile(node.value)
    if (!node.computed) {
      const name = this.keyName(node.key)
      return (run, into) => setOwn(into, name, value(run))
    }
    const key = this.compile(node.key)
    return (run, into) => setOwn(into, keyOf(run, key(run)), value(run))
  }

  private keyName(key: Expression): string {
    if (key.type === 'Identifier') return key.name
    if (key.type === 'Literal') return String(this.valueOf(key))
    throw unexpected(this.source, key.start)
  }

  private template({ quasis, expressions }: TemplateLiteral): Code {
    const texts = quasis.map(({ value: { cooked, raw }, start }) => {
      if (typeof cooked !== 'string') throw new ExpressionFault(`a malformed escape in '${raw}'`, start)
      return cooked
    })
    const codes = expressions.map((expression) => this.compile(expression))
    return (run) => codes.reduce((whole, code, index) => join(run, join(run, whole, textOf(run, code(run))), texts[index + 1] ?? ''), texts[0] ?? '')
  }
}

const unknown = (kind: string, name: string, known: readonly string[], { start }: AnyNode): ExpressionFault =>
  new ExpressionFault(`unknown ${kind} '${name}'${suggestion(name, known)} (there are ${known.join(', ')})`, start)
