// main: the secrets of a runtime, and its log, in which their values are hidden.
import { systemClock } from '../alarms/clock.ts'
import { hidingLog } from '../observe/log.ts'
import type { Log } from '../ports/log.ts'
import { openSecrets, type Environment, type WatchedSecrets } from '../settings/secrets.ts'

export interface OpenedSecrets {
  readonly secrets: WatchedSecrets
  /** Hides the values of secrets in the lines that it passes on. */
  readonly log: Log
}

/** Reads the secrets of the environment, and follows changes of their files until they are closed. */
export async function watchSecrets(environment: Environment, given: Log): Promise<OpenedSecrets> {
  const secrets = await openSecrets(environment)
  const log = hidingLog(given, secrets)
  secrets.watch(systemClock, (secret, reason) =>
    log.error('the file of a secret is unusable; the value that was read last stays', { name: secret, reason }),
  )
  return { secrets, log }
}
