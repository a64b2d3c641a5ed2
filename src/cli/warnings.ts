// cli: warnings about settings with which a server can start, but probably not as intended.
import { readTokens } from '../access/tokens.ts'
import { asksForToken } from '../model/start-command.ts'
import type { LoadedServices } from '../main.ts'
import { unknownSettings, type Settings } from '../settings.ts'
import type { World } from './command.ts'
import { counted } from './report.ts'

type Service = Pick<LoadedServices['services'][number], 'package' | 'fluxName' | 'triggers' | 'webhooks' | 'source'>

/** Warns of each unknown setting. A misspelt one may be one that was to restrict access. */
export function warnOfSettings({ env, err }: World): void {
  for (const variable of unknownSettings(env))
    err(`actorflux: warning: there is no setting ${variable}: it is ignored; serve --help lists them all`)
}

/** Warns when calls need a token and the file has no valid one, because then nobody can make these calls. */
export async function warnOfNobody(
  { tokens: file, requireAuth }: Settings,
  services: readonly Service[],
  { err }: World,
): Promise<void> {
  const secured = services.filter(asksForToken)
  if (!requireAuth && secured.length === 0) return
  const tokens = await readTokens(file).catch(() => null)
  if (tokens === null || tokens.some(({ expires }) => expires === null || expires > Date.now())) return
  const [first] = secured
  const what =
    requireAuth || first === undefined
      ? 'every call'
      : `each call of ${counted(secured.length, 'secured service')} such as ${first.package}/${first.fluxName}`
  err(
    `actorflux: warning: ${what} needs a token, and ${file} has no valid one; create one with: actorflux token create --name <name>`,
  )
}
