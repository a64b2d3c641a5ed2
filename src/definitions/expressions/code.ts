// definitions/expressions: from syntax tree to code: closures over data, with nothing left to look up but the data's own properties.
import type { ArrowExpression } from '@jsep-plugin/arrow'
import type { ObjectExpression } from '@jsep-plugin/object'
import type { TemplateLiteral } from '@jsep-plugin/template'
import type jsep from 'jsep'
import { getOwn, setOwn } from '../../model/json.ts'
import { keyOf, read, readHeader } from './access.ts'
import type { CallbackCode, Invocation, Items, Member } from './calls.ts'
import { isLoop, isMethod, itemsCode, loopCall, methodCall, methodNames, needsFunction, spreadMember } from './calls.ts'
import { arrowOf, linked, SKIPPED, skips } from './chains.ts'
import type { Code, Value } from './evaluation.ts'
import { isFields } from './evaluation.ts'
import { looksLikeTemplate } from '../foreign.ts'
import { suggestion } from '../../model/nearest.ts'
import { ExpressionFault } from './expression.ts'
import { functions } from './functions.ts'
import { unescape } from './literals.ts'
import { binaryOperators, unaryOperators } from './operators.ts'
import { isNode, isProperty } from './parse.ts'
import { join, textOf } from './values.ts'

const MAX_DEPTH = 200
const MAX_PARAMETERS = 4
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
  private readonly places: ReadonlyMap<string, number>
  /** The parameters that the present node sees, with their places in an evaluation. */
  private visible: ReadonlyMap<string, number> = new Map()
  /** How many parameters its arrow functions have together, so far. */
  private parameters = 0
  private depth = 0

  constructor(places: ReadonlyMap<string, number>) {
    this.places = places
  }

  /** @throws ExpressionFault for what the language lacks */
  compile(node: jsep.Expression): Code {
    const code = this.link(node)
    if (!skips(node)) return code
    return (run) => {
      const value = code(run)
      return value === SKIPPED ? undefined : value
    }
  }

  /** As `compile`, but for a link of a chain, which may give SKIPPED. */
  private link(node: jsep.Expression): Code {
    if (this.depth === MAX_DEPTH) throw this.fault(`an expression nested deeper than ${MAX_DEPTH}`)
    this.depth += 1
    this.cost += node.type === 'CallExpression' ? STEPS_A_CALL : node.type === 'MemberExpression' ? STEPS_A_PROPERTY : STEPS_A_NODE
    const code = this.node(node)
    this.depth -= 1
    return code
  }

  private node(node: jsep.Expression): Code {
    if (!isNode(node)) throw this.refused(node)
    switch (node.type) {
      case 'Literal': return this.literal(node)
      case 'Identifier': return this.name(node.name)
      case 'MemberExpression': return linked(this.link(node.object), node, this.property(node))
      case 'CallExpression': return this.call(node)
      case 'UnaryExpression': return this.operator(unaryOperators.get(node.operator), node.operator)(this.compile(node.argument))
      case 'BinaryExpression':
        return this.operator(binaryOperators.get(node.operator), node.operator)(this.compile(node.left), this.compile(node.right))
      case 'ConditionalExpression': return this.conditional(node)
      case 'ArrayExpression': return this.list(node)
      case 'ObjectExpression': return this.object(node)
      case 'TemplateLiteral': return this.template(node)
      case 'ArrowFunctionExpression': throw this.fault('a function can only be the first argument of a method such as map,', '=>')
      case 'SpreadElement': throw this.fault("'...' belongs into a list, an object or arguments,", '...')
    }
  }

  private refused({ type }: jsep.Expression): ExpressionFault {
    if (type === 'ThisExpression') return this.fault("unexpected 'this'", 'this')
    if (type === 'TaggedTemplateExpression') return this.fault('a template with a tag', '`')
    return this.fault('more than one expression', ',')
  }

  private operator<T>(builder: T | undefined, operator: string): T {
    if (builder === undefined) throw this.fault(`unknown operator '${operator}'`, operator)
    return builder
  }

  private literal({ value, raw }: jsep.Literal): Code {
    const literal = typeof value === 'string' ? this.unescape(raw.slice(1, -1)) : value
    if (typeof literal === 'string' && looksLikeTemplate(literal)) this.quotesPlaceholder = true
    if (typeof literal === 'object' && literal !== null) throw this.fault('unknown literal', raw)
    return () => literal
  }

  private unescape(raw: string): string {
    const text = unescape(raw)
    if (text === null) throw this.fault(`a malformed escape in '${raw}'`)
    return text
  }

  private name(name: string): Code {
    if (name === 'undefined') return () => undefined
    const place = this.visible.get(name)
    if (place !== undefined) return (run) => run.parameters[place]
    this.names.add(name)
    return (run) => run.scope.get(name)
  }

  private conditional(node: jsep.ConditionalExpression): Code {
    const [test, consequent, alternate] = [this.compile(node.test), this.compile(node.consequent), this.compile(node.alternate)]
    return (run) => test(run) ? consequent(run) : alternate(run)
  }

  private property(node: jsep.MemberExpression): Invocation {
    const name = this.staticKey(node)
    const key = name === undefined ? this.compile(node.property) : () => name
    if (this.isHeaders(node.object)) return (run, target) => readHeader(run, target, key(run))
    if (name === undefined) return (run, target) => read(run, target, key(run))
    return (run, target) => isFields(target) ? getOwn(target, name) : read(run, target, name)
  }

  /** The key that a member expression writes out. */
  private staticKey({ computed, property }: jsep.MemberExpression): string | undefined {
    if (!isNode(property)) return undefined
    if (!computed) return property.type === 'Identifier' ? property.name : undefined
    return property.type === 'Literal' && typeof property.value === 'string' ? this.unescape(property.raw.slice(1, -1)) : undefined
  }

  /** `$request.headers`, or the response's, in any way of writing it. */
  private isHeaders(node: jsep.Expression): boolean {
    if (!isNode(node) || node.type !== 'MemberExpression' || this.staticKey(node) !== 'headers') return false
    const { object } = node
    return isNode(object) && object.type === 'Identifier' && !this.visible.has(object.name)
      && (object.name === '$request' || object.name === '$response')
  }

  private call(node: jsep.CallExpression): Code {
    const { callee } = node
    if (isNode(callee) && callee.type === 'MemberExpression') return linked(this.link(callee.object), callee, this.method(callee, node))
    if (!isNode(callee) || callee.type !== 'Identifier') throw this.fault('only functions and methods can be called,', '(')
    const call = functions.get(callee.name)
    if (call === undefined) {
      throw this.fault(`unknown function '${callee.name}'${suggestion(callee.name, functions.keys())} (there are ${[...functions.keys()].join(', ')})`, callee.name)
    }
    const args = this.items(node.arguments)
    return (run) => call(run, args(run))
  }

  private method(callee: jsep.MemberExpression, node: jsep.CallExpression): Invocation {
    const name = this.staticKey(callee)
    if (name === undefined) throw this.fault("a method's name must be written out", '[')
    if (!isMethod(name)) throw this.fault(`unknown method '${name}'${suggestion(name, methodNames())} (there are ${methodNames().join(', ')})`, name)
    const optional = node['optional'] === true
    const [first, ...rest] = node.arguments
    const callback = first && isLoop(name) ? arrowOf(first) : undefined
    if (callback) return loopCall(name, this.callback(callback), this.items(rest), optional)
    if (needsFunction(name)) throw this.fault(`'${name}' needs a function such as x => x.name`, name)
    return methodCall(name, this.items(node.arguments), optional)
  }

  private callback({ params, body }: ArrowExpression): CallbackCode {
    const names = (params ?? []).map((param) => isNode(param) && param.type === 'Identifier' ? param.name : 'undefined')
    if (names.includes('undefined') || new Set(names).size < names.length || names.length > MAX_PARAMETERS) {
      throw this.fault(`a function has up to ${MAX_PARAMETERS} parameters, different plain names,`, '=>')
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

  private items(nodes: readonly (jsep.Expression | null)[]): Items {
    return itemsCode(nodes.map((node) => {
      if (node === null) throw this.fault('a list with a hole', ',')
      const spread = isNode(node) && node.type === 'SpreadElement'
      return { code: this.compile(spread ? node.argument : node), spread }
    }))
  }

  private list({ elements }: jsep.ArrayExpression): Code {
    const items = this.items(elements)
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

  private member(node: jsep.Expression): Member {
    if (isNode(node) && node.type === 'SpreadElement') return spreadMember(this.compile(node.argument))
    if (!isProperty(node) || node.value === undefined) throw this.fault('an object with a member that is no key and value,', '{')
    const value = this.compile(node.value)
    if (!node.computed) {
      const name = this.keyName(node.key)
      return (run, into) => setOwn(into, name, value(run))
    }
    const key = this.compile(node.key)
    return (run, into) => setOwn(into, keyOf(run, key(run)), value(run))
  }

  private keyName(key: jsep.Expression): string {
    if (key.type === 'ThisExpression') return 'this'
    if (isNode(key) && key.type === 'Identifier') return key.name
    if (isNode(key) && key.type === 'Literal') return typeof key.value === 'string' ? this.unescape(key.raw.slice(1, -1)) : String(key.value)
    throw this.fault('an object with a key that is neither a name, a text nor in brackets,', '{')
  }

  private template({ quasis, expressions }: TemplateLiteral): Code {
    const texts = quasis.map(({ value }) => this.unescape(value.raw.replaceAll(/\r\n?/g, '\n')))
    const codes = expressions.map((expression) => this.compile(expression))
    if (texts.length !== codes.length + 1) throw this.fault('a placeholder without exactly one expression', '${')
    return (run) => codes.reduce((whole, code, index) => join(run, join(run, whole, textOf(run, code(run))), texts[index + 1] ?? ''), texts[0] ?? '')
  }

  private fault(reason: string, token = ''): ExpressionFault {
    return new ExpressionFault(reason, this.places.get(token) ?? 0)
  }
}
