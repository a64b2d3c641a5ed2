// watchdog: determines, from a snapshot of the server's thread, which function blocks the event loop, if any.
import { sep } from 'node:path'
import { linesWithin } from '../model/error-message.ts'
import type { PackageFolder, RunningStep } from '../ports/steps.ts'
import type { Frame, ThreadSnapshot } from './examine.ts'
import type { Facts, Suspect } from './shared.ts'

export type Verdict = ReturnType<typeof judge>

/** Maximum number of bytes of a stack. */
const MAX_STACK_BYTES = 4096
/** Share of the heap from which on V8 spends most of its time collecting garbage. */
const FULL_HEAP = 0.9

/**
 * Determines the cause. `snapshot` is null if the server's thread could not be stopped; then `stack`, which is for the
 * log, is null too. `standstill` is for the servers that take over.
 */
export function judge(snapshot: ThreadSnapshot | null, suspect: Suspect | null) {
  const { step, reason, isCertain } = snapshot === null ? withoutSnapshot(suspect) : fromSnapshot(snapshot, suspect)
  const packages = snapshot?.facts.packages ?? []
  const frames = snapshot?.frames.filter(({ file }) => !file.startsWith('node:')) ?? []
  const own = frames.filter(({ file }) => isBelow(file, packages))
  return {
    step,
    reason,
    stack: snapshot && textOf(frames, packages),
    standstill: {
      step: step && { stepKey: step.stepKey, attempt: step.attempt },
      isCertain,
      stack: textOf(own, packages),
      message: 'the function held up the server, which had to end',
    },
  }
}

function fromSnapshot({ frames, facts }: ThreadSnapshot, suspect: Suspect | null) {
  const top = frames.find(({ file }) => isBelow(file, facts.packages))
  // Without a function of a package, the one that was called may be of a built-in class.
  const step = top === undefined ? (suspect?.isCalled ? suspect.step : null) : stepAt(top, facts)
  if (step !== null) return { step, reason: 'a function does not return', isCertain: true }
  // The function was left running by a step that has ended, or belongs to one of several steps.
  if (top !== undefined) {
    const reason = 'a function does not return, and which step it belongs to is not known'
    return { step, reason, isCertain: facts.running.length === 0 }
  }
  const reason =
    facts.heap >= FULL_HEAP
      ? 'garbage collection: the memory is nearly full'
      : "the server's own code takes long: no function of a service was running"
  return { step, reason, isCertain: true }
}

/**
 * A thread that can't be stopped waits for the operating system, is within one long call of V8, or collects garbage.
 */
function withoutSnapshot(suspect: Suspect | null) {
  const what = suspect?.isCalled ? 'the function was called and has not returned' : 'no other function was running'
  const known = suspect ? `; ${what}` : ', or garbage collection; no function is known to be the cause'
  const reason = `it is within a call that can't be interrupted${known}`
  return { step: suspect?.step ?? null, reason, isCertain: suspect !== null }
}

/**
 * The step that the frame belongs to: the step that started the running code, if the frame's file is in its package;
 * else the only running step of that module, or of that package.
 */
function stepAt({ file }: Frame, { step, running, packages }: Facts) {
  const owners = packages.filter((folder) => isBelow(file, [folder]))
  const has = (one: RunningStep) => owners.some(({ name }) => name === one.package)
  if (step !== null && has(step)) return step
  const candidates = running.filter(has)
  const ofModule = candidates.filter(({ className, package: name }) =>
    owners.some((folder) => folder.name === name && isModule(file, folder, className)),
  )
  const [only = null, ...others] = ofModule.length > 0 ? ofModule : candidates
  return others.length === 0 ? only : null
}

const isBelow = (file: string, packages: readonly PackageFolder[]) =>
  packages.some(({ root }) => file.startsWith(root + sep))

const isModule = (file: string, { root }: PackageFolder, className: string) =>
  file.replace(/\.m?[jt]s$/, '') === [root, ...className.split('.')].join(sep)

/** The frames, one per line, with paths relative to their package. The text is cut after whole lines. */
const textOf = (frames: readonly Frame[], packages: readonly PackageFolder[]) =>
  linesWithin(
    MAX_STACK_BYTES,
    frames.map(({ name, file, line, column }) => {
      const root = packages.find((folder) => isBelow(file, [folder]))?.root
      const place = `${root === undefined ? file : file.slice(root.length + 1)}:${line}:${column}`
      return `at ${name === '' ? place : `${name} (${place})`}`
    }),
  )
