// cli: checks services, for commands that do not serve them.
import { createLog } from '../observe/log.ts'
import { readSome } from '../settings.ts'
import type { World } from './command.ts'

/** Loads the services of the folders; of ACTORFLUX_ACTORS, if there are none. */
export async function checkFolders(folders: readonly string[], { env }: World) {
  const settings = readSome(
    env,
    ...(folders.length > 0 ? [] : ['ACTORFLUX_ACTORS']),
    'ACTORFLUX_LOG_LEVEL',
    'ACTORFLUX_LOG_FORMAT',
    'ACTORFLUX_WEBHOOK_TIMEOUT',
  )
  const actors = folders.length > 0 ? folders : settings.actors
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { checkServices } = await import('../main.ts')
  return { ...(await checkServices({ ...settings, actors }, { log, env })), actors, settings }
}

/** No service at all is a failure: most likely the folder is wrong. */
export const noService = (actors: readonly string[]): string =>
  `actorflux: no service was found: ${actors.join(', ')} must hold packages, which are folders of .flux files`
