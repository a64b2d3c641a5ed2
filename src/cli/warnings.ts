// cli: what is told when a server starts that can start, but hardly as it was meant.
import { readTokens } from '../access/tokens.ts'
import { asksForToken } from '../definitions/start-command.ts'
import type { LoadedServices } from '../main.ts'
import { unknownSettings, type Settings } from '../settings.ts'
import type { World } from './command.ts'
import { counted } from './report.ts'

type Service = LoadedServices['services'][number]

/** A misspelt setting may be the one that was to close the server. */
export function warnOfSettings({ env, err }: World): void {
  for (const variable of unknownSettings(env))
    err(`actorflux: warning: there is no setting ${variable}: it is ignored; serve --help lists them all`)
}

/** Who asks for tokens and has none keeps everyone out. */
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
    `actorflux: warning: ${what} needs a token, and ${file} has none that is good; make one with: actorflux token create --name <name>`,
  )
}
