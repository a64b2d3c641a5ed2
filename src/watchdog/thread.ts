// watchdog: the observing thread. It detects that the event loop is blocked, reports the cause, and ends the process if
// necessary. Every request to the server's thread has a time limit.
//
// - The result is written where the store says (`notes` in the port): a file beside the embedded data, a key in Redis,
//   over a connection of the thread's own. It is written before it is logged, since other servers take over before
//   this one is ended, and erased when the event loop turns again. The server that takes over a step reads it
//   (`standstill`): the attempt that blocked the server fails, and the takeover of other steps is not counted if that
//   attempt was identified with certainty.
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { createLog, type LogFormat } from '../observe/log.ts'
import type { LogLevel } from '../ports/log.ts'
import type { StandstillNotes, NotesPlace } from '../ports/steps.ts'
import { examineThread, exitFromWithin } from './examine.ts'
import { judge, type Verdict } from './judge.ts'
import { Shared } from './shared.ts'

export interface WatchdogOptions {
  /** Milliseconds for which the event loop must be blocked until the cause is logged; 0: only just before `kill`. */
  readonly after: number
  /** Milliseconds for which the event loop must be blocked until the process is ended; 0: never. */
  readonly kill: number
  /**
   * Milliseconds without a heartbeat after which other servers take the steps over; null if there are no other servers.
   */
  readonly silence: number | null
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  readonly notes: NotesPlace
}

export interface ThreadOptions extends WatchdogOptions {
  /**
   * Milliseconds for which the event loop must be blocked until a note is stored for the servers that take over
   * (`noted`), and until the cause is logged (`named`).
   */
  readonly noted: number
  readonly named: number
  /** Boot id of the server. A message to the thread is a new one. */
  readonly owner: string
  readonly buffer: SharedArrayBuffer
}

/** Exit code that asks for a restart: an internal software error (sysexits.h, EX_SOFTWARE). */
const EXIT_CODE = 70
/** Maximum time between two checks of the heartbeat. */
const TICK_MS = 100
/**
 * Maximum time that counts from one check to the next. If this thread slept longer, it was delayed itself, and so was
 * the server.
 */
const MAX_COUNTED_MS = 1000
/** Time limit for stopping the server's thread to examine it, and the pause before the next attempt. */
const EXAMINE_MS = 700
const EXAMINE_AGAIN_MS = 1000
/** Time limit for writing the note before the cause is logged, and for ending the process from within. */
const NOTE_MS = 5000
const EXIT_MS = 1000

const options: ThreadOptions = workerData
const shared = new Shared(options.buffer)
const log = createLog({ level: options.logLevel, format: options.logFormat })
const { openNotes }: { openNotes: (place: unknown) => StandstillNotes } = await import(options.notes.module)
const notes = openNotes(options.notes.place)
let { owner } = options
const end = options.kill || Infinity
parentPort?.on('message', (message: string) => {
  owner = message
})

/**
 * Resolves to true when the event loop has been blocked for `to` milliseconds, of which `from` have passed; to false when
 * it turns again or a debugger may be attached.
 */
async function staysBlocked(beats: number, from: number, to: number) {
  const tick = Math.min(TICK_MS, options.noted / 10)
  const mostCounted = Math.min(MAX_COUNTED_MS, options.noted / 2)
  let blockedMs = from
  for (let last = performance.now(); blockedMs < to;) {
    await sleep(tick)
    const now = performance.now()
    blockedMs += Math.min(now - last, mostCounted)
    last = now
    if (shared.beats !== beats || shared.isOff) return false
  }
  return true
}

async function watch() {
  const { beats } = shared
  let verdict: Verdict | null = null
  let reported: Verdict | null = null
  let noteWritten = Promise.resolve()
  let blockedMs = 0
  for (let until = options.noted; await staysBlocked(beats, blockedMs, until);) {
    const began = performance.now()
    // A thread that could not be stopped before may be stoppable now.
    if (verdict === null || verdict.stack === null) {
      const snapshot = await examineThread(EXAMINE_MS)
      if (snapshot?.facts.isDebugged === true || shared.beats !== beats) break
      const seen = judge(snapshot, shared.suspect)
      if (verdict === null || snapshot !== null) {
        verdict = seen
        // The note is written first: the server that takes over must find it, however this process ends.
        noteWritten = noteWritten.then(() => writeNote(beats, seen))
      }
    }
    blockedMs = until + performance.now() - began
    if (blockedMs >= options.named && reported !== verdict) {
      await Promise.race([noteWritten, sleep(NOTE_MS)])
      report(verdict)
      reported = verdict
    }
    if (blockedMs >= end) {
      // It may have gone on while the note was written.
      if (shared.beats === beats) await endProcess(verdict)
      break
    }
    const again = verdict.stack === null ? blockedMs + EXAMINE_AGAIN_MS : Infinity
    until = blockedMs < options.named ? options.named : Math.min(end, again)
  }
  if (verdict === null) return
  // A note that came after the erasure would blame the wrong attempt.
  await noteWritten
  await notes
    .erase(owner)
    .catch((error: unknown) => log.warn('the note about the blocked event loop could not be erased', { error }))
}

/** Writes the note, with retries while the event loop is blocked. Never fails. */
async function writeNote(beats: number, { standstill }: Verdict) {
  while (shared.beats === beats) {
    try {
      await notes.write(owner, JSON.stringify(standstill))
      return
    } catch (error) {
      log.warn('the note about the blocked event loop could not be written', { error })
      await sleep(500)
    }
  }
}

const report = ({ step, reason, stack }: Verdict) =>
  log.error('the event loop stands still', { ...step, reason, stack })

async function endProcess(verdict: Verdict) {
  // A debugger may have been attached meanwhile.
  if ((await examineThread(EXAMINE_MS))?.facts.isDebugged === true) return
  log.error('the event loop stood still for too long: the process ends, to be started again', {
    contextId: verdict.step?.contextId,
    exitCode: EXIT_CODE,
  })
  await exitFromWithin(EXIT_CODE, EXIT_MS)
  // The exit may take effect only when the session has ended.
  await sleep(EXIT_MS)
  // The thread can't be interrupted: the process is killed, without the exit code.
  process.kill(process.pid, 'SIGKILL')
}

for (;;) await watch().catch((error: unknown) => log.error('the watchdog failed', { error }))
