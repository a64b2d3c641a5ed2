// cli: `actorflux server resume`: tells a server that was started paused to go on.
import { parseArgs } from 'node:util'
import { messageOf } from '../model/error-message.ts'
import { isObject } from '../model/json/value.ts'
import { readSettings } from '../settings.ts'
import { EXIT, UsageError, type Command, type World } from './command.ts'

const HELP = `Usage: actorflux server resume [--url <url>]

Tells a server that was started with serve --paused to go on.

  --url    where the server is; else ACTORFLUX_URL, else ACTORFLUX_HOST and ACTORFLUX_PORT

ACTORFLUX_TOKEN is a token with the role admin. A server that asks for no tokens needs none from its own machine.`

/** Milliseconds until the server must have answered. */
const PATIENCE_MS = 30_000

export const server: Command = async (args, world) => {
  const { url, help, positionals } = readArguments(args)
  if (help) {
    world.out(HELP)
    return EXIT.fine
  }
  if (positionals.length !== 1 || positionals[0] !== 'resume') throw new UsageError('server needs a command: resume')
  return resume(placeOf(url, world), world)
}

function readArguments(args: string[]) {
  try {
    const options = { url: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
    return { ...values, positionals }
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

/** The URL of the server, without a slash at its end. @throws UsageError */
function placeOf(given: string | undefined, { env }: World): string {
  const { ACTORFLUX_HOST, ACTORFLUX_PORT, ACTORFLUX_URL = undefined } = env
  let settings
  try {
    settings = readSettings({ ACTORFLUX_HOST, ACTORFLUX_PORT, ACTORFLUX_URL: given ?? ACTORFLUX_URL })
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
  const { url, host, port } = settings
  if (url !== null) return url.replace(/\/$/, '')
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

async function resume(url: string, { env, out, err }: World): Promise<number> {
  const token = env['ACTORFLUX_TOKEN']
  const headers = { accept: 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await fetch(`${url}/flux-api/server/resume`, { method: 'POST', headers, signal })
    const answer: unknown = await response.json().catch(() => null)
    const { message, detail } = isObject(answer) ? answer : {}
    if (response.ok) {
      out(String(message ?? 'the server goes on'))
      return EXIT.fine
    }
    err(`actorflux: ${String(detail ?? `the server answered ${response.status}`)}`)
  } catch (error) {
    err(`actorflux: ${url} can't be reached: ${messageOf(error)}`)
  }
  return EXIT.failed
}
