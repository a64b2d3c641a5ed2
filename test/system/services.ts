// The services that the tests of real processes run: what a user would have written, files and all.

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const copy = (from: string, to: string) => ({ from: [from], to: [to] })
const code = (methodName: string, ...inputs: string[]) => ({
  type: 'invokeCode',
  className: 'steps.Steps',
  methodName,
  inputs: inputs.map((name) => copy(name, name)),
  outputs: [],
  timeout: 60,
})

const COUNT = { type: 'map', lines: [set('count + 1', 'count')] }
const FILES = [
  { name: 'file', required: true },
  { name: 'gate', required: true },
]

const STEPS = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

interface Files { readonly file: string; readonly gate: string }
interface Step { readonly stepKey: string; readonly attempt: number; readonly signal: AbortSignal }

function note(file: string, { stepKey, attempt }: Step): void {
  appendFileSync(file, stepKey + ' ' + attempt + '\\n')
}

/** Writes down that it runs, and ends once the gate is there. */
export async function hold({ file, gate }: Files, flux: Step): Promise<void> {
  note(file, flux)
  while (!existsSync(gate)) await sleep(20, undefined, { signal: flux.signal })
}

/** Writes down that it runs, and takes the whole process with it. */
export async function crash({ file }: Files, flux: Step): Promise<void> {
  note(file, flux)
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
}
`

export const SERVICES = {
  'crash/steps/Steps.ts': STEPS,

  /** Waits for two events. */
  'crash/Waiter.flux': {
    states: [
      { name: 'first', waiting: true, transitions: [{ to: 'second', event: 'go' }] },
      { name: 'second', waiting: true, transitions: [{ to: 'done', event: 'go' }] },
      { name: 'done' },
    ],
  },

  /** Hears its event once. */
  'crash/Once.flux': {
    states: [
      { name: 'open', waiting: true, transitions: [{ to: 'shut', event: 'knock' }] },
      { name: 'shut', waiting: true, transitions: [{ to: 'done', event: 'go' }] },
      { name: 'done' },
    ],
  },

  /** Counts each event it takes, `tick` and `tock`. */
  'crash/Counter.flux': {
    output: [{ name: 'count', type: 'integer', defaultValue: 0 }],
    states: [
      {
        name: 'counting',
        waiting: true,
        action: COUNT,
        transitions: [
          { to: 'counting', event: 'tick' },
          { to: 'counting', event: 'tock' },
        ],
      },
    ],
  },

  /** Three ways to be woken at a time. */
  'crash/Delayed.flux': {
    input: [{ name: 'due', type: 'long', required: true }],
    states: [{ name: 'start', transitions: [{ to: 'done', wait: 'date:${due}' }] }, { name: 'done' }],
  },
  'crash/Dated.flux': {
    input: [{ name: 'due', type: 'long', required: true }],
    states: [
      {
        name: 'start',
        waiting: true,
        transitions: [
          { to: 'done', wait: 'date:${due}' },
          { to: 'start', event: 'never' },
        ],
      },
      { name: 'done' },
    ],
  },
  'crash/Timed.flux': {
    input: [{ name: 'due', type: 'long', required: true }],
    states: [
      { name: 'start', waiting: true, transitions: [{ to: 'done', wait: 'duration:${(due - now()) / 1000}' }] },
      { name: 'done' },
    ],
  },

  'crash/Holder.flux': {
    input: FILES,
    states: [{ name: 'hold', action: code('hold', 'file', 'gate'), transitions: [{ to: 'done' }] }, { name: 'done' }],
  },
  'crash/Crasher.flux': { input: FILES.slice(0, 1), states: [{ name: 'crash', action: code('crash', 'file') }] },

  /** Invokes a child that waits for an event and gives back what that brings. */
  'crash/Parent.flux': {
    output: [{ name: 'answer' }],
    states: [
      {
        name: 'ask',
        action: { type: 'invokeFlux', name: 'Child', inputs: [], outputs: [copy('said', 'answer')] },
        transitions: [{ to: 'done' }],
      },
      { name: 'done' },
    ],
  },
  'crash/Child.flux': {
    output: [{ name: 'said' }],
    states: [
      {
        name: 'listen',
        waiting: true,
        input: [{ name: 'word' }],
        action: { type: 'map', lines: [copy('word', 'said')] },
        transitions: [{ to: 'done', event: 'say' }],
      },
      { name: 'done' },
    ],
  },
  /** Invokes a child that runs a step. */
  'crash/Boss.flux': {
    input: FILES,
    states: [
      {
        name: 'ask',
        action: {
          type: 'invokeFlux',
          name: 'Holder',
          inputs: [copy('file', 'file'), copy('gate', 'gate')],
          outputs: [],
        },
        transitions: [{ to: 'done' }],
      },
      { name: 'done' },
    ],
  },
} as const
