// steps: makes Node forget the ES modules below some folders. It keeps each module for good under its URL, so later
// imports get another URL.
import { register } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * A module customization hook of Node's (node:module, `register`); registered again, it is the same one with new data.
 */
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
 * From now on, imports of files below the roots (absolute, with a separator at the end) read them again. Installed
 * packages stay as they are. Costs nothing as long as no root comes a second time, so a server that never reloads has
 * no hook.
 */
export function importFreshly(roots: readonly string[]): void {
  const isAgain = roots.some((root) => known.has(root))
  for (const root of roots) known.add(root)
  if (!isAgain) return
  times += 1
  register(HOOK, { data: { roots: [...known].map((root) => pathToFileURL(root).href), mark: `?reload=${times}` } })
}
