// store/lmdb: every page that the trees of a data file lead to, each once, and what is wrong with them.
import type { FilePage, PageFile } from './page-file.ts'
import { PageError, type Tree, TREE_BYTES, treeAt } from './page-layout.ts'

/** Pages after which others get their turn: a few milliseconds of work. */
const STRIDE = 500

/** Trees that a walk can tell apart; ours are eight. */
const MOST_TREES = 200

/** Lines of damage that are kept. */
const MOST_DAMAGE = 1000

/** What a walk came upon. */
export interface Walk {
  /** A line for each page, or value, that can't be read, as far as there aren't too many. */
  readonly damage: string[]
  /** By number of a page the number of its tree, in `trees`; 0: none leads to it. */
  readonly used: Uint8Array
  /** What the trees are called; the databases by their names. */
  readonly trees: readonly string[]
  /** Records by the name of their database, as lmdb counted them; null where that can't be read. */
  readonly counted: Map<string, number>
}

/** The first two trees. */
export const FREE_PAGES = 'the list of free pages'
const DATABASES = 'the list of databases'

/** Walks through all databases of the file; others get their turn meanwhile. */
export async function walkAll(file: PageFile): Promise<Walk> {
  const walk = {
    damage: [...file.damage],
    used: new Uint8Array(Math.max(file.pages, 2)),
    trees: ['', FREE_PAGES, DATABASES],
    counted: new Map<string, number>(),
  }
  if (file.meta === null) return walk
  walk.used.fill(1, 0, 2)
  await walkTree(file, walk, 1, file.meta.free, () => {})
  const found: { name: string; tree: Tree }[] = []
  await walkTree(file, walk, 2, file.meta.main, (number) => found.push(...treesIn(file.page(number))))
  for (const { name, tree } of found.slice(0, MOST_TREES)) {
    walk.counted.set(name, tree.entries)
    await walkTree(file, walk, walk.trees.push(name) - 1, tree, () => {})
  }
  return walk
}

const treesIn = (page: FilePage): { name: string; tree: Tree }[] =>
  page.kind === 'branch'
    ? []
    : page.nodes.flatMap(({ key, data, isTree }) =>
        isTree && data.length === TREE_BYTES ? { name: nameOf(key), tree: treeAt(data) } : [],
      )

/** lmdb-js ends its names with a zero. */
const nameOf = (key: Buffer): string => key.toString('latin1').replace(/\0$/, '')

async function walkTree(
  file: PageFile,
  walk: Walk,
  number: number,
  tree: Tree,
  onLeaf: (number: number) => void,
): Promise<void> {
  const name = walk.trees[number] ?? ''
  const what = number > 2 ? `the database '${name}'` : name
  let [entries, steps, faults] = [0, 0, 0]
  const open = tree.depth > 0 ? [{ at: tree.root, level: 1 }] : []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, level } = next
    try {
      const page = file.outline(at)
      use(walk, number, at, 1)
      if ((page.kind === 'leaf') !== (level === tree.depth))
        throw new PageError(`page ${at} is at the wrong level of its tree`)
      if (page.kind === 'branch')
        for (const child of page.children.toReversed()) open.push({ at: child, level: level + 1 })
      else {
        entries += page.records
        onLeaf(at)
        for (const overflow of page.overflows) {
          file.checkOverflow(overflow)
          use(walk, number, overflow.page, overflow.pages)
        }
      }
    } catch (error) {
      if (!(error instanceof PageError)) throw error
      faults += 1
      if (walk.damage.length < MOST_DAMAGE) walk.damage.push(`${what}: ${error.message}`)
    }
    if (++steps % STRIDE === 0)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
  }
  if (faults === 0 && entries !== tree.entries)
    walk.damage.push(`${what} has ${entries} records, and ${tree.entries} were counted`)
}

/** @throws PageError when the trees lead to one of the pages twice */
function use({ used }: Walk, tree: number, first: number, count: number): void {
  for (let page = first; page < first + count; page++) {
    if (used[page] !== 0) throw new PageError(`page ${page} is in use twice`)
    used[page] = tree
  }
}
