// main: the data of the page at `/`: name, version, number of services, and a first command to try.
import { readFile } from 'node:fs/promises'
import type { Catalog } from '../definitions/catalog.ts'
import { asksForToken, easiest, startCommand } from '../definitions/start-command.ts'
import type { About } from '../http/docs/home.ts'

/** The page at `/` needs no token. So where every call needs one, no service is named there. */
export async function aboutOf(catalog: Catalog, requireAuth: boolean): Promise<About> {
  const { name, version }: { name: string; version: string } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return {
    name,
    version,
    services: () => catalog.all().length,
    command(url) {
      const service = requireAuth ? undefined : easiest(catalog.all().filter((each) => !asksForToken(each)))
      return service ? startCommand(service, { url, withToken: false }) : null
    },
  }
}
