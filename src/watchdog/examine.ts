// watchdog: stops the server's thread for a moment, over the inspector protocol, and reads its call stack.
import type { Debugger } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { HOOK, type Facts } from './shared.ts'

export interface Frame {
  /** Empty for an anonymous function. */
  readonly name: string
  /** Path of a file, or a module of Node: `node:…`. */
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly column: number
}

export interface ThreadSnapshot {
  /** From the innermost to the outermost. */
  readonly frames: readonly Frame[]
  readonly facts: Facts
}

/**
 * Examines the server's thread. Resolves to null if it can't be stopped within `timeoutMs` milliseconds, because it
 * waits for the operating system or is within one long call of V8.
 */
export async function examineThread(timeoutMs: number): Promise<ThreadSnapshot | null> {
  return withSession(timeoutMs, async (session) => {
    const files = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => files.set(scriptId, url))
    const paused = new Promise<Debugger.CallFrame[]>((resolve) => {
      session.on('Debugger.paused', ({ params }) => resolve(params.callFrames))
    })
    await session.post('Debugger.enable')
    await session.post('Debugger.pause')
    const callFrames = await paused
    const facts = await factsOf(session)
    const frames = callFrames.map(({ functionName, location: { scriptId, lineNumber, columnNumber = 0 } }) => ({
      name: functionName,
      file: pathOf(files.get(scriptId) ?? ''),
      line: lineNumber + 1,
      column: columnNumber + 1,
    }))
    return { frames, facts }
  })
}

/**
 * Ends the process with that exit code from its main thread, since another thread can't do so. Resolves if the process
 * still runs after `timeoutMs` milliseconds.
 */
export async function exitFromWithin(code: number, timeoutMs: number): Promise<void> {
  await withSession(timeoutMs, (session) =>
    session.post('Runtime.evaluate', { expression: `process.reallyExit(${code})` }),
  )
}

/**
 * Opens an inspector session, and closes it in any case. Resolves to null on errors and after `timeoutMs` milliseconds.
 */
async function withSession<T>(timeoutMs: number, use: (session: Session) => Promise<T>): Promise<T | null> {
  const session = new Session()
  try {
    session.connectToMainThread()
    return await Promise.race([use(session), sleep(timeoutMs, null)])
  } catch {
    return null
  } finally {
    // This also resumes a paused thread.
    session.disconnect()
  }
}

async function factsOf(session: Session): Promise<Facts> {
  const expression = `globalThis[Symbol.for(${JSON.stringify(HOOK)})]()`
  const { result } = await session.post('Runtime.evaluate', { expression, returnByValue: true, silent: true })
  if (typeof result.value !== 'string') throw new Error("the server's thread did not return its facts")
  return JSON.parse(result.value)
}

/** The path of a module's URL. The URL of a reloaded module has a query. */
function pathOf(url: string) {
  if (!url.startsWith('file:')) return url
  const parsed = new URL(url)
  parsed.search = ''
  return fileURLToPath(parsed)
}
