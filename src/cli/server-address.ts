// cli: where the server is that a command speaks to.
import { messageOf } from '../model/error-message.ts'
import { readSome } from '../settings.ts'
import { textOption, UsageError, type World } from './command.ts'

export const URL_OPTION = {
  url: textOption('url', 'the server; else ACTORFLUX_URL, else ACTORFLUX_HOST and ACTORFLUX_PORT'),
}

/** The address without a slash at its end. @throws UsageError */
export function serverAddress(given: string | undefined, { env }: World): string {
  const variables = { ...env, ACTORFLUX_URL: given ?? env['ACTORFLUX_URL'] }
  try {
    const { url, host, port } = readSome(variables, 'ACTORFLUX_HOST', 'ACTORFLUX_PORT', 'ACTORFLUX_URL')
    if (url !== null) return url.replace(/\/$/, '')
    if (port === 0) throw new Error('ACTORFLUX_PORT is 0, any free port: name the server by --url')
    return `http://${ownName(host)}:${port}`
  } catch (error) {
    const text = messageOf(error)
    throw new UsageError(given === undefined ? text : text.replace('ACTORFLUX_URL', '--url'))
  }
}

/** A server that listens on every address is reached on this machine's own. */
function ownName(host: string) {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
