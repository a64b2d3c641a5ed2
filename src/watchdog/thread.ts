// watchdog: the thread. It sees that the event loop stands still, says what holds it up, and ends the process if it has
// to. It never asks the server's thread for anything without a limit of time.
import { parentPort, workerData } from 'node:worker_threads'
import { createLog, type LogFormat } from '../observe/log.ts'
import type { LogLevel } from '../ports/log.ts'
import type { StandstillNotes, NotesPlace } from '../ports/step-watch.ts'
import { examineThread, exitFromWithin } from './examine.ts'
import { judge, type Verdict } from './judge.ts'
import { Shared } from './shared.ts'

export interface ThreadOptions {
  /**
   * Milliseconds of standstill until it is noted for those who take over, until it is named in the log, and until the
   * process ends (0: never).
   */
  readonly noted: number
  readonly named: number
  readonly kill: number
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  readonly notes: NotesPlace
  readonly owner: string
  readonly buffer: SharedArrayBuffer
}

/** The boot id of the server has changed. */
export interface WatchdogMessage {
  readonly owner: string
}

/** Says that it is to be started again: a failure of something inside that may pass (sysexits.h, EX_SOFTWARE). */
const EXIT_CODE = 70
/** Milliseconds between two looks, at most. */
const TICK_MS = 100
/**
 * Milliseconds from one look to the next that count at most: who sleeps longer was held up itself, and so was the
 * server.
 */
const MOST_COUNTED_MS = 1000
/** Milliseconds in which the server's thread must have stopped to be looked at, and until that is tried again. */
const LOOK_MS = 700
const LOOK_AGAIN_MS = 1000
/** Milliseconds that a note may take before the process ends. */
const NOTE_MS = 5000
const EXIT_MS = 1000

const options: ThreadOptions = workerData
const shared = new Shared(options.buffer)
const log = createLog({ level: options.logLevel, format: options.logFormat })
const { openNotes }: { openNotes: (place: unknown) => StandstillNotes } = await import(options.notes.module)
const notes = openNotes(options.notes.place)
let { owner } = options
const end = options.kill || Infinity
parentPort?.on('message', (message: WatchdogMessage) => {
  ;({ owner } = message)
})

const sleep = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds)
  })

/** Resolves when the event loop has stood still for so long (true), or turns (false). */
async function standsStill(beats: number, from: number, to: number): Promise<boolean> {
  const tick = Math.min(TICK_MS, options.noted / 10)
  const mostCounted = Math.min(MOST_COUNTED_MS, options.noted / 2)
  let still = from
  for (let last = performance.now(); still < to;) {
    await sleep(tick)
    const now = performance.now()
    still += Math.min(now - last, mostCounted)
    last = now
    if (shared.beats !== beats || shared.isOff) return false
  }
  return true
}

async function look(): Promise<void> {
  const { beats } = shared
  if (!(await standsStill(beats, 0, options.noted))) return
  const began = performance.now()
  const verdict = await see(beats, options.named - options.noted + LOOK_MS)
  if (verdict === null) return
  // Whoever takes over must find it, whatever ends this process.
  const noting = note(verdict)
  const still = options.noted + performance.now() - began
  if (await standsStill(beats, still, options.named)) {
    post(verdict)
    await followUp(beats, Math.max(still, options.named), { verdict, noting })
  }
  await noting
  await notes
    .erase(owner)
    .catch((error: unknown) => log.warn('what was written down of a standstill could not be erased', { error }))
}

/** Until the event loop turns again, or the process has to end. */
async function followUp(
  beats: number,
  from: number,
  { verdict, noting }: { verdict: Verdict; noting: Promise<void> },
): Promise<void> {
  for (let still = from; still < end;) {
    const next = Math.min(end, verdict.stack === null ? still + LOOK_AGAIN_MS : Infinity)
    if (!(await standsStill(beats, still, next))) return
    still = next
    // What couldn't be stopped before perhaps can be now.
    const better: Verdict | null = verdict.stack === null ? await see(beats, LOOK_MS) : null
    if (better === null || better.stack === null) continue
    verdict = better
    noting = noting.then(() => note(better))
    post(verdict)
  }
  await endProcess(verdict, noting)
}

/** Whom to blame; null: nobody, since the event loop turns again, or a debugger holds it. */
async function see(beats: number, patience: number): Promise<Verdict | null> {
  const sight = await examineThread(patience)
  return sight?.facts.isDebugged === true || shared.beats !== beats ? null : judge(sight, shared.suspect)
}

/** Tries until it is written. Never fails. */
async function note({ standstill }: Verdict): Promise<void> {
  const { beats } = shared
  while (shared.beats === beats) {
    try {
      await notes.write(owner, JSON.stringify(standstill))
      return
    } catch (error) {
      log.warn('a standstill of the event loop could not be written down', { error })
      await sleep(500)
    }
  }
}

function post({ step, reason, stack }: Verdict): void {
  const { contextId, fluxName, state, className, methodName } = step ?? {}
  log.error('the event loop stands still', { contextId, fluxName, state, className, methodName, reason, stack })
}

async function endProcess(verdict: Verdict, noting: Promise<void>): Promise<void> {
  // Someone may look into it by now.
  if ((await examineThread(LOOK_MS))?.facts.isDebugged === true) return
  await Promise.race([noting, sleep(NOTE_MS)])
  log.error('the event loop stood still for too long: the process ends, to be started again', {
    contextId: verdict.step?.contextId,
    exitCode: EXIT_CODE,
  })
  await exitFromWithin(EXIT_CODE, EXIT_MS)
  // It may have waited for the session to end.
  await sleep(EXIT_MS)
  // It can't be made to: then without its code.
  process.kill(process.pid, 'SIGKILL')
}

for (;;) await look().catch((error: unknown) => log.error('the watchdog failed', { error }))
