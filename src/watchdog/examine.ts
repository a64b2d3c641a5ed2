// watchdog: stops the server's thread for a moment, over the protocol of debuggers, to see where it is.
import { Session, type Debugger } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import { HOOK, type Facts } from './facts.ts'

export interface Frame {
  /** Empty for one without a name. */
  readonly name: string
  /** Path of a file, or what Node calls its own modules: `node:…`. */
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly column: number
}

export interface Sight {
  /** The innermost first. */
  readonly frames: readonly Frame[]
  readonly facts: Facts
}

/**
 * What the server's thread does now. null: it can't be stopped within so many milliseconds, since it waits for the
 * system, or is within one long call of the engine's own.
 */
export async function examineThread(patience: number): Promise<Sight | null> {
  return withSession(patience, async (session) => {
    const files = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => files.set(scriptId, url))
    const paused = new Promise<Debugger.CallFrame[]>((resolve) => {
      session.on('Debugger.paused', ({ params }) => resolve(params.callFrames))
    })
    session.post('Debugger.enable')
    session.post('Debugger.pause')
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
 * Ends the process with that code, from within its own thread: no other can. Resolves when that was of no use within so
 * many milliseconds.
 */
export async function exitFromWithin(code: number, patience: number): Promise<void> {
  await withSession(
    patience,
    (session) =>
      new Promise(() => {
        session.post('Runtime.evaluate', { expression: `process.reallyExit(${code})` })
      }),
  )
}

/** Lets go of the thread in any case. */
async function withSession<T>(patience: number, use: (session: Session) => Promise<T>): Promise<T | null> {
  const session = new Session()
  let timer: NodeJS.Timeout | undefined
  try {
    session.connectToMainThread()
    return await Promise.race([
      use(session),
      new Promise<null>((resolve) => {
        timer = setTimeout(() => resolve(null), patience)
      }),
    ])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
    // Also goes on with what is paused.
    session.disconnect()
  }
}

function factsOf(session: Session): Promise<Facts> {
  const expression = `globalThis[Symbol.for(${JSON.stringify(HOOK)})]()`
  return new Promise((resolve, reject) => {
    session.post('Runtime.evaluate', { expression, returnByValue: true, silent: true }, (error, answer) => {
      if (error !== null || typeof answer.result.value !== 'string')
        return reject(error ?? new Error('the server did not tell its facts'))
      const facts: Facts = JSON.parse(answer.result.value)
      resolve(facts)
    })
  })
}

/** Modules are URLs; what is loaded again has a query. */
function pathOf(url: string): string {
  if (!url.startsWith('file:')) return url
  const parsed = new URL(url)
  parsed.search = ''
  return fileURLToPath(parsed)
}
