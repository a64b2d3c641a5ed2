// watchdog: determines, from a snapshot of the server's thread, which function blocks the event loop, if any.
import { sep } from 'node:path'
import { linesWithin } from '../model/error-message.ts'
import type { Standstill } from '../model/standstill.ts'
import type { PackageFolder, RunningStep } from '../ports/steps.ts'
import type { Frame, ThreadSnapshot } from './examine.ts'
import type { Facts, Suspect } from './shared.ts'

export interface Verdict {
  readonly step: RunningStep | null
  readonly reason: string
  /** The whole stack, for the log; null if the thread could not be stopped. */
  readonly stack: string | null
  readonly standstill: Standstill
}

/** Maximum number of bytes of a stack. */
const MAX_STACK_BYTES = 4096
/** Share of the heap from which on V8 spends most of its time collecting garbage. */
const FULL_HEAP = 0.9

interface Found {
  readonly step: RunningStep | null
  readonly reason: string
  readonly isCertain: boolean
}

/** Determines the cause. `snapshot` is null if the server's thread could not be stopped. */
export function judge(snapshot: ThreadSnapshot | null, suspect: Suspect | null): Verdict {
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

function fromSnapshot({ frames, facts }: ThreadSnapshot, suspect: Suspect | null): Found {
  const top = frames.find(({ file }) => isBelow(file, facts.packages))
  if (top !== undefined) {
    const step = stepAt(top, facts)
    if (step !== null) return certainly(step)
    // The function was left running by a step that has ended, or belongs to one of several steps.
    return {
      step,
      reason: 'a function does not return, and which step it belongs to is not known',
      isCertain: facts.running.length === 0,
    }
  }
  // A function of a built-in class, which has no code in a package.
  if (suspect?.isCalled === true) return certainly(suspect.step)
  const reason =
    facts.heap >= FULL_HEAP
      ? 'garbage collection: the memory is nearly full'
      : "the server's own code takes long: no function of a service was running"
  return { step: null, reason, isCertain: true }
}

const certainly = (step: RunningStep): Found => ({ step, reason: 'a function does not return', isCertain: true })

/**
 * A thread that can't be stopped waits for the operating system, is within one long call of V8, or collects garbage.
 */
function withoutSnapshot(suspect: Suspect | null): Found {
  const reason = "it is within a call that can't be interrupted"
  return suspect === null
    ? { step: null, reason: `${reason}, or garbage collection; no function is known to be the cause`, isCertain: false }
    : {
        step: suspect.step,
        reason: `${reason}; ${suspect.isCalled ? 'the function was called and has not returned' : 'no other function was running'}`,
        isCertain: true,
      }
}

/**
 * The step that the frame belongs to: the step that started the running code, if the frame's file is in its package;
 * else the only running step of that module, or of that package.
 */
function stepAt({ file }: Frame, { step, running, packages }: Facts): RunningStep | null {
  const owners = packages.filter((folder) => isBelow(file, [folder]))
  const has = (one: RunningStep) => owners.some(({ name }) => name === one.package)
  if (step !== null && has(step)) return step
  const candidates = running.filter(has)
  const ofModule = candidates.filter(({ className, package: name }) =>
    owners.some((folder) => folder.name === name && isModule(file, folder, className)),
  )
  return only(ofModule) ?? (ofModule.length === 0 ? only(candidates) : null)
}

const only = <T>(list: readonly T[]): T | null => (list.length === 1 ? (list[0] ?? null) : null)

const isBelow = (file: string, packages: readonly PackageFolder[]) =>
  packages.some(({ root }) => file.startsWith(root + sep))

const isModule = (file: string, { root }: PackageFolder, className: string) =>
  file.replace(/\.m?[jt]s$/, '') === [root, ...className.split('.')].join(sep)

/** The frames, one per line, with paths relative to their package. The text is cut after whole lines. */
const textOf = (frames: readonly Frame[], packages: readonly PackageFolder[]): string =>
  linesWithin(
    MAX_STACK_BYTES,
    frames.map(({ name, file, line, column }) => {
      const root = packages.find((folder) => isBelow(file, [folder]))?.root
      const place = `${root === undefined ? file : file.slice(root.length + 1)}:${line}:${column}`
      return `at ${name === '' ? place : `${name} (${place})`}`
    }),
  )
