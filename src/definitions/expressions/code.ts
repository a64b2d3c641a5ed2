// definitions/expressions: compiles a syntax tree to closures. At run time these look up nothing but the data's own
// properties. The supported nodes are a closed list, `Compiler.node`; any other node is refused, with its position.
import type {
  AnyNode,
  ArrowFunctionExpression,
  CallExpression,
  Expression,
  MemberExpression,
  Property,
  SpreadElement,
} from 'acorn'
import { getOwn, setOwn } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { SECRETS, secretNameFault } from '../../model/secret-reference.ts'
import { keyOf, read, readHeader } from './access.ts'
import { functions } from './builtins/functions.ts'
import { listMethods, loopMethods, type Callback } from './builtins/list-methods.ts'
import {
  lacking,
  methodCall,
  methodNames,
  spreadMember,
  spreadOf,
  type Invocation,
  type Items,
  type Member,
} from './calls.ts'
import { isFields, isList, type Code, type Evaluation, type Fields, type Value } from './evaluation.ts'
import { ExpressionFault } from './expression.ts'
import { looksLikeTemplate } from './foreign.ts'
import { linkOf, literalValue, pathOf, skips, staticKey } from './nodes.ts'
import { binaryOperators, unaryOperators } from './operators.ts'
import { unexpected, unexpectedAfter, type Syntax } from './parse.ts'
import { joined, stringify } from './values.ts'

const MAX_DEPTH = 200

/** Steps to evaluate a node without its children. A call also makes a list of its arguments. */
const STEPS_PER_NODE = 1
const STEPS: { readonly [type: string]: number } = { MemberExpression: 2, CallExpression: 5 }

/**
 * The value that the links of a chain pass on after `?.` found null or undefined, so that the rest of the chain is
 * skipped. Unlike in JavaScript, parentheses around a part do not limit that.
 */
const SKIPPED: Fields = Object.freeze({})

function linked(target: Code, node: MemberExpression, invoke: Invocation): Code {
  if (!skips(node)) return (run) => invoke(run, target(run))
  return (run) => {
    const value = target(run)
    return value === SKIPPED || (node.optional && (value === null || value === undefined))
      ? SKIPPED
      : invoke(run, value)
  }
}

/** Makes an object of its members. */
const objectOf =
  (members: readonly Member[]): Code =>
  (run) => {
    const object: { [key: string]: Value } = {}
    run.makeMembers(members.length)
    for (const member of members) member(run, object)
    return run.own(object)
  }

const HEADERS = new Set(['$request.headers', '$response.headers'])

/**
 * Where the value of a node goes: into the result as it is, into a text, or into a computation, such as that of the JSON
 * text of a list or an object.
 */
type Use = 'value' | 'text' | 'computed'

const COMPUTES =
  'a secret can only be passed on, alone or in a text such as `Bearer ${$secrets.NAME}`: nothing can be computed with it before the call'
const UNNAMED = `write ${SECRETS}.NAME: the secrets as a whole are not visible`

/** Compiles an expression, or those of a template, and collects what their evaluation needs. */
export class Compiler {
  /** Free names. */
  readonly names = new Set<string>()
  /** What is read of free names: a name and constant keys. */
  readonly paths: string[][] = []
  /** Whether a quoted text contains something that looks like a placeholder. */
  quotesPlaceholder = false
  /** Names of secrets. */
  readonly secrets = new Set<string>()
  /** Why a secret can't be used as it is; null: it can. */
  secretFault: string | null = null
  /** Steps to evaluate everything once, without the bodies of loops. */
  cost = 0
  private source = ''
  /** Parameters that are visible to the current node, with their indices in `Evaluation.parameters`. */
  private visible: ReadonlyMap<string, number> = new Map()
  /** Number of parameters of all arrow functions so far. */
  private parameters = 0
  private depth = 0

  /** @throws ExpressionFault for syntax that the language does not support */
  add({ tree, source }: Syntax, use: Use): Code {
    this.source = source
    return this.compile(tree, use)
  }

  private compile(node: AnyNode, use: Use = 'computed'): Code {
    const code = this.link(node, use)
    if (!skips(node)) return code
    return (run) => {
      const value = code(run)
      return value === SKIPPED ? undefined : value
    }
  }

  /** As `compile`, for a link of a chain, whose code may return SKIPPED. */
  private link(marked: AnyNode, use: Use = 'computed'): Code {
    const node = linkOf(marked)
    if (this.depth === MAX_DEPTH) throw new ExpressionFault(`an expression nested deeper than ${MAX_DEPTH}`, node.start)
    this.depth += 1
    this.cost += STEPS[node.type] ?? STEPS_PER_NODE
    const path = pathOf(node, this.visible)
    const code = path?.[0] === SECRETS ? this.secret(path, use) : this.node(node, use)
    this.depth -= 1
    return code
  }

  /**
   * Compiles `$secrets.NAME`. Where lines compute the arguments of a step, it is not the secret but a mark, with a
   * random number that is drawn after all data that the lines can read was there. So an expression may place it, alone
   * or within a text, but can't compute with it.
   */
  private secret([, name = '', ...more]: readonly string[], use: Use): Code {
    const misnamed = name === '' || more.length > 0 ? UNNAMED : secretNameFault(name)
    this.secretFault ??= use === 'computed' ? COMPUTES : misnamed
    this.names.add(SECRETS)
    this.secrets.add(name)
    return (run) => read(run, run.scope.get(SECRETS), name)
  }

  private node(node: AnyNode, use: Use): Code {
    const inText = use === 'computed' ? use : 'text'
    const inside = use === 'value' ? use : 'computed'
    switch (node.type) {
      case 'Literal': {
        const value = literalValue(node, this.source)
        if (typeof value === 'string' && looksLikeTemplate(value)) this.quotesPlaceholder = true
        return () => value
      }
      case 'Identifier':
        return this.name(node.name)
      case 'MemberExpression':
        return linked(this.link(node.object), node, this.property(node))
      case 'CallExpression':
        return this.call(node)
      case 'UnaryExpression': {
        const build = unaryOperators.get(node.operator)
        if (build === undefined) throw refused(node, this.source)
        return build(this.compile(node.argument))
      }
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const build = binaryOperators.get(node.operator)
        if (build === undefined) throw unexpectedAfter(node.left, this.source)
        const sum = node.operator === '+' ? inText : 'computed'
        const left = this.compile(node.left, sum)
        return build(left, this.compile(node.right, node.type === 'LogicalExpression' ? use : sum))
      }
      case 'ConditionalExpression': {
        const test = this.compile(node.test)
        const [consequent, alternate] = [this.compile(node.consequent, use), this.compile(node.alternate, use)]
        return (run) => (test(run) ? consequent(run) : alternate(run))
      }
      case 'ArrayExpression': {
        const items = this.items(node.elements, node, inside)
        return (run) => {
          run.makeElements(node.elements.length)
          return run.own(items(run))
        }
      }
      case 'ObjectExpression':
        return objectOf(node.properties.map((property) => this.member(property, inside)))
      case 'TemplateLiteral': {
        const texts = node.quasis.map(({ value: { cooked, raw }, start }) => {
          if (typeof cooked === 'string') return cooked
          throw new ExpressionFault(`a malformed escape in '${raw}'`, start)
        })
        const parts = node.expressions.map((expression) => this.compile(expression, inText))
        return joined(texts, parts, stringify)
      }
      default:
        throw refused(node, this.source)
    }
  }

  private name(name: string): Code {
    if (name === 'undefined') return () => undefined
    const place = this.visible.get(name)
    if (place !== undefined) return (run) => run.parameters[place]
    this.names.add(name)
    return (run) => run.scope.get(name)
  }

  private property(node: MemberExpression): Invocation {
    const path = pathOf(node, this.visible)
    if (path !== null) this.paths.push(path)
    const name = staticKey(node)
    const key = node.computed || name === undefined ? this.compile(node.property) : () => name
    if (HEADERS.has(pathOf(node.object, this.visible)?.join('.') ?? ''))
      return (run, target) => readHeader(run, target, key(run))
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
    const name = staticKey(callee)
    const { start } = callee.property
    if (name === undefined) throw new ExpressionFault("a method's name must be written out", start)
    if (!methodNames.includes(name)) throw unknownName('method', name, methodNames, callee.property)
    const loop = loopMethods.get(name)
    const [first, ...rest] = node.arguments
    if (first?.type === 'ArrowFunctionExpression' && loop !== undefined) {
      const [callback, args] = [this.callback(first), this.items(rest, node)]
      return (run, target) =>
        isList(target) ? loop(run, target, callback(run), args(run)) : lacking(name, target, node.optional)
    }
    if (loop !== undefined && !listMethods.has(name))
      throw new ExpressionFault(`'${name}' needs a function such as x => x.name`, start)
    return methodCall(name, this.items(node.arguments, node), node.optional)
  }

  /** Compiles the function that a loop method calls, which is made for each evaluation. */
  private callback({ params, body, async: isAsync, start }: ArrowFunctionExpression): (run: Evaluation) => Callback {
    if (isAsync) throw unexpected(this.source, start)
    const names = params.map((parameter) => (parameter.type === 'Identifier' ? parameter.name : 'undefined'))
    if (names.includes('undefined') || names.length > MAX_PARAMETERS)
      throw new ExpressionFault(`a function has up to ${MAX_PARAMETERS} parameters, which are plain names,`, start)
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

  /** Compiles arguments or elements, with what is spread among them, to one list of values. */
  private items(nodes: readonly (Expression | SpreadElement | null)[], { start }: AnyNode, use?: Use): Items {
    const items = nodes.map((node) => {
      if (node === null) throw new ExpressionFault('a list with a hole', start)
      const isSpread = node.type === 'SpreadElement'
      return { isSpread, code: isSpread ? this.compile(node.argument) : this.compile(node, use) }
    })
    const codes = items.map(({ code }) => code)
    if (!items.some(({ isSpread }) => isSpread)) return (run) => codes.map((code) => code(run))
    return (run) => {
      const all: Value[] = []
      for (const { code, isSpread } of items) {
        const value = code(run)
        if (!isSpread) all.push(value)
        else for (const item of spreadOf(run, value)) all.push(item)
      }
      return all
    }
  }

  private member(node: Property | SpreadElement, use: Use): Member {
    if (node.type === 'SpreadElement') return spreadMember(this.compile(node.argument))
    if (node.kind !== 'init' || node.method) {
      throw new ExpressionFault('an object with a member that is no key and value,', node.start)
    }
    const value = this.compile(node.value, use)
    if (node.computed) {
      const key = this.compile(node.key)
      return (run, into) => setOwn(into, keyOf(run, key(run)), value(run))
    }
    const { key } = node
    if (key.type !== 'Identifier' && key.type !== 'Literal') throw unexpected(this.source, key.start)
    const name = key.type === 'Identifier' ? key.name : String(literalValue(key, this.source))
    return (run, into) => setOwn(into, name, value(run))
  }
}

/** The fault of a node that the language does not support. */
function refused(node: AnyNode, source: string) {
  switch (node.type) {
    case 'ArrowFunctionExpression':
      return new ExpressionFault('a function can only be the first argument of a method such as map,', node.start)
    case 'BlockStatement':
      return new ExpressionFault("a function's body is one expression (put an object in parentheses),", node.start)
    case 'TaggedTemplateExpression':
      return new ExpressionFault('a template with a tag', node.quasi.start)
    case 'AssignmentExpression':
      return unexpectedAfter(node.left, source)
    case 'SequenceExpression':
      return unexpectedAfter(node.expressions[0], source)
    case 'UpdateExpression':
      return node.prefix ? unexpected(source, node.start) : unexpectedAfter(node.argument, source)
    default:
      return unexpected(source, node.start)
  }
}

/** Maximum number of parameters of an arrow function. */
const MAX_PARAMETERS = 4

/** The fault of an unknown function or method. `known`: those that exist. */
const unknownName = (kind: string, name: string, known: readonly string[], { start }: AnyNode) =>
  new ExpressionFault(`unknown ${kind} '${name}'${suggestion(name, known)} (there are ${known.join(', ')})`, start)
