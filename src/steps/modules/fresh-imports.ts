// steps: makes Node load ES modules below some folders again. Node caches each module permanently by URL, so later
// imports get another URL.
import { register } from 'node:module'
import { pathToFileURL } from 'node:url'

/** A module customization hook (node:module, `register`). Registering it again updates its data. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  let fresh = { roots: [], mark: '' }
  export function initialize(data) { fresh = data }
  export async function resolve(specifier, context, next) {
    const found = await next(specifier, context)
    const isBelow = (root) => found.url.startsWith(root) && !found.url.slice(root.length).includes('node_modules/')
    return !found.url.includes('?') && fresh.roots.some(isBelow) ? { ...found, url: found.url + fresh.mark } : found
  }
`)}`

let times = 0
const known = new Set<string>()

/**
 * Makes later imports of files below the roots (absolute paths that end with a separator) read the files again.
 * Installed packages are not read again. The hook is registered only when a root is passed a second time, so a server
 * that never reloads has no hook.
 */
export function importFreshly(roots: readonly string[]): void {
  const isAgain = roots.some((root) => known.has(root))
  for (const root of roots) known.add(root)
  if (!isAgain) return
  times += 1
  register(HOOK, { data: { roots: [...known].map((root) => pathToFileURL(root).href), mark: `?reload=${times}` } })
}
