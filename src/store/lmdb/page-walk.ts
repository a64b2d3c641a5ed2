// store/lmdb: every page that the trees of a data file lead to, each once, and what is wrong with them.
import { type Node, PageError, type PageFile, type Tree, TREE_BYTES, treeAt } from './page-file.ts'

/** Pages after which others get their turn: a few milliseconds of work. */
const STRIDE = 500

/** What a walk came upon. */
export interface Walk {
  /** One for each page, or value, that can't be read. */
  readonly damage: string[]
  /** Which pages the trees lead to, by number; 1 for each. */
  readonly used: Uint8Array
  /** Records by the name of their database, as lmdb counted them; null where that can't be read. */
  readonly counted: Map<string, number>
}

/** Walks through all databases of the file; others get their turn meanwhile. */
export async function walkAll(file: PageFile): Promise<Walk> {
  const walk: Walk = { damage: [...file.damage], used: new Uint8Array(Math.max(file.pages, 2)), counted: new Map() }
  if (file.meta === null) return walk
  walk.used.fill(1, 0, 2)
  await walkTree(file, walk, 'the list of free pages', file.meta.free, () => {})
  const trees: { name: string; tree: Tree }[] = []
  await walkTree(file, walk, 'the list of databases', file.meta.main, ({ key, data, isTree }) => {
    if (isTree && data.length === TREE_BYTES) trees.push({ name: nameOf(key), tree: treeAt(data) })
  })
  for (const { name, tree } of trees) {
    walk.counted.set(name, tree.entries)
    await walkTree(file, walk, `the database '${name}'`, tree, () => {})
  }
  return walk
}

/** lmdb-js ends its names with a zero. */
const nameOf = (key: Buffer): string => key.toString('latin1').replace(/\0$/, '')

async function walkTree(file: PageFile, walk: Walk, what: string, tree: Tree, found: (node: Node) => void): Promise<void> {
  const before = walk.damage.length
  let [entries, steps] = [0, 0]
  const open = tree.depth > 0 ? [{ number: tree.root, level: 1 }] : []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { number, level } = next
    try {
      const page = file.page(number)
      use(walk, number, 1)
      if ((page.kind === 'leaf') !== (level === tree.depth)) throw new PageError(`page ${number} is at the wrong level of its tree`)
      if (page.kind === 'branch') for (const child of page.children.toReversed()) open.push({ number: child, level: level + 1 })
      else for (const node of page.nodes) {
        entries += 1
        found(node)
        if (node.overflow === null) continue
        file.checkOverflow(node.overflow)
        use(walk, node.overflow.page, node.overflow.pages)
      }
    } catch (error) {
      if (!(error instanceof PageError)) throw error
      walk.damage.push(`${what}: ${error.message}`)
    }
    if (++steps % STRIDE === 0) await new Promise((resolve) => { setImmediate(resolve) })
  }
  if (walk.damage.length === before && entries !== tree.entries) walk.damage.push(`${what} has ${entries} records, and ${tree.entries} were counted`)
}

/** @throws PageError when the trees lead to one of the pages twice */
function use({ used }: Walk, page: number, count: number): void {
  for (let number = page; number < page + count; number++) {
    if (used[number] === 1) throw new PageError(`page ${number} is in use twice`)
    used[number] = 1
  }
}
