// model: how Node is started with a module of this program.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The arguments with which Node runs a module. `module`: its URL, without the extension. */
export function programArguments(module: URL): string[] {
  const file = fileURLToPath(module)
  if (import.meta.url.endsWith('.js')) return [`${file}.js`]
  // In a source checkout, Node cannot load the TypeScript module without jiti.
  return [join(dirname(createRequire(import.meta.url).resolve('jiti')), 'jiti-cli.mjs'), `${file}.ts`]
}
