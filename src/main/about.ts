// main: what the server says about itself at `/`.
import { readFile } from 'node:fs/promises'
import type { Catalog } from '../definitions/catalog.ts'
import { asksForToken, easiest, startCommand } from '../definitions/start-command.ts'
import type { About } from '../http/docs/home.ts'

/** Where every call needs a token, no service is named: the page at `/` is shown without one. */
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
