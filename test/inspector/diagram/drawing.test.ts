// The drawing of a definition: what it shows, where states lie, and that lines and labels keep clear of them.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BOX, drawingMaker, drawingOf, MAX_DRAWN_STATES, type Drawing } from '../../../src/inspector/diagram/drawing.ts'
import { pointsOf } from '../../../src/inspector/diagram/svg.tsx'
import { turnsDuring } from '../../support/turns-during.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const overlap = (one: Area, other: Area): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height

const labelsIn = ({ edges }: Drawing) => edges.flatMap(({ labels }) => labels)

/** The pieces of all lines, without width; their ends touch the boxes that they begin and end at. */
const piecesIn = ({ edges }: Drawing): Area[] =>
  edges.map(pointsOf).flatMap((points) =>
    points.slice(1).map((end, index) => {
      const start = points[index] ?? end
      return {
        x: Math.min(start.x, end.x),
        y: Math.min(start.y, end.y),
        width: Math.abs(start.x - end.x),
        height: Math.abs(start.y - end.y),
      }
    }),
  )

const pairsOf = <T>(list: readonly T[]): [T, T][] =>
  list.flatMap((one, index) => list.slice(index + 1).map((other): [T, T] => [one, other]))

async function drawn(definition: JsonObject): Promise<Drawing> {
  const drawing = await drawingOf(definition)
  if (!drawing) throw new Error('it is not drawn')
  return drawing
}

function expectClear(drawing: Drawing): void {
  const { children: states, edges, width, height } = drawing
  for (const [one, other] of pairsOf(states)) expect(overlap(one, other)).toBe(false)
  for (const line of edges) {
    const { edge } = line
    const points = pointsOf(line)
    expect(points.length).toBeGreaterThanOrEqual(edge.from === edge.to ? 4 : 2)
    for (const [index, point] of points.entries()) {
      const before = points[index - 1]
      // Rows and columns only.
      if (before) expect([edge, before.x === point.x || before.y === point.y]).toEqual([edge, true])
      expect(point.x >= 0 && point.x <= width && point.y >= 0 && point.y <= height).toBe(true)
    }
  }
  for (const piece of piecesIn(drawing)) for (const box of states) expect(crosses(piece, box)).toBe(false)
  const labels = labelsIn(drawing)
  for (const label of labels) for (const box of states) expect(overlap(label, box)).toBe(false)
  for (const [one, other] of pairsOf(labels)) expect(overlap(one, other)).toBe(false)
}

/** A line has no width: it crosses a box when it comes inside of it. */
const crosses = (piece: Area, { x, y, width, height }: Area): boolean =>
  piece.x < x + width && piece.x + piece.width > x && piece.y < y + height && piece.y + piece.height > y

const state = (name: string, transitions: JsonObject[] = [], more: JsonObject = {}): JsonObject => ({
  name,
  transitions,
  ...more,
})
const next = (to: string) => ({ to })

/** Connected at random, without places. */
const tangled = (count: number, edges: number) => {
  let seed = 1
  const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
  const transitions = Array.from({ length: count }, (): JsonObject[] => [])
  for (let index = 0; index < edges; index++)
    transitions[index % count]?.push({ event: `e${index}`, to: `s${Math.floor(random() * count)}` })
  return { states: transitions.map((each, index) => state(`s${index}`, each)) }
}

describe('a drawing', () => {
  test('keeps the columns that the file makes, and the order of their states', async () => {
    const { children: states } = await drawn({
      states: [
        state('a', [next('b'), next('c')], { x: 100, y: 200 }),
        state('b', [], { x: 300, y: 60 }),
        state('c', [], { x: 300, y: 340 }),
      ],
    })
    const [a, b, c] = states
    expect(b?.x).toBe(c?.x)
    expect((b?.x ?? 0) - (a?.x ?? 0)).toBeGreaterThan(BOX.width)
    expect((c?.y ?? 0) - (b?.y ?? 0)).toBeGreaterThan(BOX.height)
  })

  test('lays the states out where places are missing, and in the direction of the moves', async () => {
    const drawing = await drawn({
      startState: 'a',
      states: [state('a', [next('b')], { x: 5, y: 5 }), state('b', [next('c')]), state('c')],
    })
    expectClear(drawing)
    const xs = drawing.children.map(({ x }) => x)
    expect(xs).toEqual(xs.toSorted((one, other) => one - other))
    expect(new Set(xs).size).toBe(3)
    expect(drawing.start).toBe('a')
  })

  test('lays them out where two lie on each other', async () => {
    expectClear(await drawn({ states: [state('a', [next('b')], { x: 1, y: 1 }), state('b', [], { x: 1, y: 1 })] }))
  })

  test('draws a line of a state to itself outside of it', async () => {
    const drawing = await drawn({
      states: [
        state('a', [
          { event: 'again', to: 'a' },
          { wait: 'duration:60', to: 'a' },
        ]),
      ],
    })
    expectClear(drawing)
    expect(drawing.edges.map(({ edge }) => edge.label)).toEqual(['again', 'after 1 min'])
  })

  test('has 40 states that are connected in many ways', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `State ${index}`)
    const states = names.map((name, index) =>
      state(name, [
        { event: `next ${index}`, to: names[(index + 1) % 40] ?? '' },
        { event: '$exception', to: 'State 39' },
        ...(index % 4 === 0 ? [{ event: 'jump', to: names[(index * 7 + 3) % 40] ?? '' }] : []),
      ]),
    )
    const drawing = await drawn({ states })
    expect(drawing.children).toHaveLength(40)
    expect(drawing.edges).toHaveLength(90)
    expectClear(drawing)
    // Most events are read from the drawing.
    expect(labelsIn(drawing).length).toBeGreaterThan(60)
  })

  test('names what a transition waits for, and leaves out what leads nowhere', async () => {
    const { edges: lines } = await drawn({
      states: [
        state('a', [
          { event: 'go', to: 'b' },
          { event: '$else', to: 'b' },
          { event: '$exception', to: 'b' },
          { wait: 'duration:86400', to: 'b' },
          { wait: 'duration:${patience}', to: 'b' },
          { wait: 'date:2030-01-01', to: 'b' },
          { to: 'b' },
          { to: 'nowhere' },
        ]),
        state('b'),
      ],
    })
    expect(lines.map(({ edge: { kind, label } }) => [kind, label])).toEqual([
      ['event', 'go'],
      ['else', 'any other'],
      ['exception', 'exception'],
      ['timed', 'after 1 d'],
      ['timed', 'after ${patience} s'],
      ['timed', 'at 2030-01-01'],
      ['next', ''],
    ])
  })

  test.each([
    [{}],
    [{ states: [] }],
    [{ states: 'x' }],
    [{ states: [1, null, { name: 5 }] }],
    [{ states: Array.from({ length: MAX_DRAWN_STATES + 1 }, (_, index) => state(`s${index}`)) }],
  ] as [JsonObject][])('is none of what has no states, or too many', async (definition) => {
    expect(await drawingOf(definition)).toBeNull()
  })

  test('is made once for each definition', async () => {
    const drawings = drawingMaker()
    const one = drawings('hash', { states: [state('a')] })
    expect(drawings('hash', {})).toBe(one)
    expect((await one)?.children[0]).toMatchObject({ state: { name: 'a' }, ...BOX })
  })

  test('is remembered with a hundred others: those that were asked for last', async () => {
    const drawings = drawingMaker()
    const first = drawings('first', {})
    const second = drawings('second', {})
    for (let count = 0; count < 98; count += 1) await drawings(`other ${count}`, {})
    expect(drawings('first', {})).toBe(first)
    await drawings('one more', {})
    expect(drawings('first', {})).toBe(first)
    expect(drawings('second', {})).not.toBe(second)
  })

  test('of the most states and transitions is made in time', async () => {
    expect(await drawingOf(tangled(MAX_DRAWN_STATES, 300))).not.toBeNull()
  }, 60_000)

  test('cuts no label so short that it says nothing', async () => {
    const { edges: lines } = await drawn({
      states: [
        state('a', [{ event: '$exception', to: 'd' }, next('b')], { x: 0, y: 0 }),
        state('b', [{ event: '$exception', to: 'd' }, next('c')], { x: 200, y: 0 }),
        state(
          'c',
          [
            { event: '$exception', to: 'd' },
            { event: 'exceptional', to: 'd' },
          ],
          { x: 400, y: 0 },
        ),
        state('d', [{ event: 'x'.repeat(60), to: 'a' }], { x: 600, y: 40 }),
      ],
    })
    const shown = lines.flatMap(({ labels }) => labels.map(({ text }) => text))
    expect(shown.filter((text) => text === 'exception')).toHaveLength(3)
    for (const text of shown.filter((each) => each.endsWith('…'))) expect(text.length).toBeGreaterThanOrEqual(10)
  })

  test('lets others work while it is made', async () => {
    const turns = await turnsDuring(drawingOf(tangled(80, 120)))
    expect(turns).toBeGreaterThan(1)
  })
})

const names = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 8 }))
const graphs = fc
  .uniqueArray(fc.oneof(names, fc.constantFrom('__proto__', 'constructor', 'x'.repeat(300))), {
    minLength: 1,
    maxLength: 9,
  })
  .chain((known) =>
    fc.record({
      isPlaced: fc.boolean(),
      states: fc.tuple(
        ...known.map((name) =>
          fc.record({
            name: fc.constant(name),
            x: fc.integer({ min: -50, max: 900 }),
            y: fc.integer({ min: -50, max: 600 }),
            transitions: fc.array(
              fc.record({ event: fc.oneof(names, fc.constantFrom('$else', '')), to: fc.constantFrom(...known) }),
              { maxLength: 3 },
            ),
          }),
        ),
      ),
    }),
  )

test('whatever the graph, lines cross no state, and labels overlap neither states nor each other', async () => {
  await fc.assert(
    fc.asyncProperty(graphs, async ({ isPlaced, states }) => {
      const placed = states.map(({ x, y, ...rest }) => (isPlaced ? { ...rest, x, y } : rest))
      expectClear(await drawn({ states: placed }))
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 40) },
  )
}, 120_000)
