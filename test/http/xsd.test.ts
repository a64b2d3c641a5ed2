// The XML Schema that is made from the calls means what the one of version 0.1 meant, which was written by hand and
// which clients have.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { CALL_LIST } from '../../src/api/calls.ts'
import { rootOf } from '../../src/api/call.ts'
import type { ContextView } from '../../src/api/contexts.ts'
import { joinPieces } from '../../src/http/answers/pieces.ts'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import { xmlPieces } from '../../src/http/formats/xml/encode.ts'
import { contextView } from './support.ts'

interface Node {
  readonly name: string
  readonly attributes: readonly string[]
  readonly content: readonly (Node | string)[]
}

const nothing = {
  name: 'output',
  type: 'model' as const,
  allowExtraProperties: true,
  gloopProperties: [{ name: 'a', value: [1, null] }],
}

const { key: _key, parent: _parent, child: _child, lastEvent: _last, pending: _pending, ...others } = contextView(1)
const { forkedFrom: _from, paused: _paused, ...view } = others

/** Each optional part is there that version 0.1 had. */
const full: typeof view & Pick<ContextView, 'snapshot'> = {
  ...view,
  tags: ['a', 'b'],
  nextRun: 5,
  endedAt: 6,
  snapshot: { value: { 's 1': 'waiting' } },
  output: nothing,
  stateContexts: [
    {
      name: 's',
      input: nothing,
      output: nothing,
      transitionContexts: [
        { event: null, to: 'b', takenAt: 1, values: { x: 1 } },
        { event: 'e', to: 'c', takenAt: 2, values: {} },
      ],
    },
  ],
  executionHistory: [{ fluxName: 'F', stateName: 'a', stateIndex: 0, enteredAt: 3 }],
  error: {
    message: 'm',
    type: 't',
    className: 'c',
    realException: { a: 1 },
    fluxStackTrace: [{ fluxName: 'F', stateName: 'a', transition: null, stateIndex: 0 }],
    stack: 'at',
  },
  step: {
    state: 'a',
    kind: 'script',
    className: null,
    methodName: 'm',
    attempt: 1,
    maxAttempts: 2,
    startedAt: null,
    timeoutAt: 4,
    nextAttemptAt: null,
    stepKey: '1/1',
    server: null,
    lastError: { type: 't', message: 'm', at: 7, stack: null },
  },
}

const EXAMPLES = CALL_LIST.map(({ call: { answer, answerExample } }) => [rootOf(answer), answerExample] as const)
const ANSWERS: readonly (readonly [root: string, value: unknown])[] = [
  ['context', full],
  ['contexts', []],
  ['stateContext', full.stateContexts[0]],
  ['definition', { 'a b': [1, '\u0000'] }],
  [
    'response',
    {
      message: 'm',
      transitions: [{ contextId: 1, state: 's' }],
      executions: [{ contextId: 2, state: 's' }],
      ignored: [{ contextId: null, fluxName: 'F', state: null, reason: 'r' }],
      hint: 'h',
    },
  ],
  ['response', { contextId: 1, status: 'WAITING' }],
  ['response', { message: 'm' }],
  ['response', { message: 'm', contextId: 1 }],
]

function parse(xml: string): Node {
  const open: { name: string; attributes: string[]; content: (Node | string)[] }[] = [
    { name: '', attributes: [], content: [] },
  ]
  for (const [, closing, name = '', attributes = '', empty, text] of xml
    .replace(/^<\?.*\?>\n/, '')
    .matchAll(/<(\/?)([\w.-]+)([^<>]*?)(\/?)>|([^<]+)/g)) {
    if (text !== undefined) open.at(-1)?.content.push(text)
    else if (closing) open.pop()
    else {
      const node = { name, attributes: attributes.match(/\S+="[^"]*"/g) ?? [], content: [] }
      open.at(-1)?.content.push(node)
      if (!empty) open.push(node)
    }
  }
  const [root] = open[0]?.content ?? []
  if (root === undefined || typeof root === 'string') throw new TypeError('no root')
  return root
}

const print = (node: Node | string): string =>
  typeof node === 'string'
    ? node
    : `<${[node.name, ...node.attributes].join(' ')}>${node.content.map(print).join('')}</${node.name}>`

/**
 * The document with one thing wrong, or at least different. An element is changed in one place of those that are alike.
 */
function* mutants(node: Node, seen: Set<string>): Generator<Node> {
  const { attributes, content } = node
  const kind = `${node.name}: ${content.map((child) => (typeof child === 'string' ? '' : child.name)).join()}`
  if (seen.has(kind)) return
  seen.add(kind)
  for (const at of attributes.keys()) yield { ...node, attributes: attributes.toSpliced(at, 1) }
  for (const more of ['type="number"', 'type="null"', 'escaped="text"']) {
    yield {
      ...node,
      attributes: [...attributes.filter((each) => !more.startsWith(each.slice(0, each.indexOf('=')))), more],
    }
  }
  yield { ...node, content: [...content, 'text'] }
  yield { ...node, content: [...content, { name: 'other', attributes: [], content: [] }] }
  yield { ...node, name: 'other' }
  yield { ...node, content: [] }
  for (const [at, child] of content.entries()) {
    yield { ...node, content: content.toSpliced(at, 1) }
    yield { ...node, content: content.toSpliced(at, 0, child) }
    const next = content[at + 1]
    if (next !== undefined) yield { ...node, content: content.toSpliced(at, 2, next, child) }
    if (typeof child !== 'string')
      for (const changed of mutants(child, seen)) yield { ...node, content: content.with(at, changed) }
  }
}

/** Documents that are looked at together: its memory ends somewhere. */
const TOGETHER = 200

/** Which of the documents the schema refuses. */
async function refusedBy(schema: string, documents: readonly string[]): Promise<Set<number>> {
  const refused = new Set<number>()
  for (let start = 0; start < documents.length; start += TOGETHER) {
    const xml = documents
      .slice(start, start + TOGETHER)
      .map((contents, index) => ({ fileName: `${start + index}.xml`, contents }))
    for (const { loc } of (await validateXML({ xml, schema, extension: 'schema' })).errors)
      if (loc) refused.add(Number.parseInt(loc.fileName, 10))
  }
  return refused
}

const documentOf = ([root, value]: readonly [string, unknown]) => joinPieces(xmlPieces(value, root))

test('takes every answer, and takes and refuses what the one of version 0.1 takes and refuses', async () => {
  const [made, written] = [xmlSchema(), await readFile(join(import.meta.dirname, 'schema-0.1.xsd'), 'utf8')]
  const answers = ANSWERS.map(documentOf)
  expect(await refusedBy(made, [...answers, ...EXAMPLES.map(documentOf)])).toEqual(new Set())
  const seen = new Set<string>()
  const documents = [...new Set(answers.flatMap((answer) => [...mutants(parse(answer), seen)].map(print)))]
  expect(documents.length).toBeGreaterThan(500)
  const refused = await refusedBy(made, documents)
  expect(refused.size).toBeGreaterThan(documents.length / 2)
  expect(refused.size).toBeLessThan(documents.length)
  const other = await refusedBy(written, documents)
  expect(documents.filter((_, index) => refused.has(index) !== other.has(index))).toEqual([])
})
