// cli: the version of the package. package.json is two folders above this file, in the source and in the build.
import { createRequire } from 'node:module'

export function versionText(): string {
  const { version }: { version: string } = createRequire(import.meta.url)('../../package.json')
  return version
}
