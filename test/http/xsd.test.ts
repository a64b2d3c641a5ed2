// The XML Schema of the answers.
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { CALL_LIST } from '../../src/api/calls.ts'
import { rootOf } from '../../src/api/call.ts'
import type { ContextView } from '../../src/api/contexts.ts'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import { encodeXml } from '../../src/http/formats/xml/encode.ts'
import { contextView } from './support.ts'

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

const documentOf = ([root, value]: readonly [string, unknown]) => encodeXml(value, root)

test('takes every answer, and refuses other documents', async () => {
  const schema = xmlSchema()
  expect(await refusedBy(schema, [...ANSWERS, ...EXAMPLES].map(documentOf))).toEqual(new Set())
  const others = ['<other/>', '<context type="date"/>', '<context escaped="all"/>', '<context more="x"/>', '<context>']
  expect(await refusedBy(schema, others)).toEqual(new Set(others.keys()))
})
