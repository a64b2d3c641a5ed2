// inspector/diagram: a drawing as a file of its own, which has the part of the style sheet that it needs.
import { readFileSync } from 'node:fs'
import type { Drawing } from './drawing.ts'
import { Diagram } from './svg.tsx'

const NO_MARKS = { hrefOf: (state: string) => `#${encodeURIComponent(state)}` }

/** An SVG document, light or dark as its viewer is. */
export function svgFileOf(drawing: Drawing, label: string): string {
  const html = String(<Diagram drawing={drawing} marks={NO_MARKS} label={label} />)
  const svg = html.slice(html.indexOf('<svg'), html.lastIndexOf('</svg>'))
  const head = svg.indexOf('>') + 1
  const opening = `${svg.slice(0, head - 1)} class="diagram" role="img">`
  return `${opening}<style>${styleOfDrawings()}</style><rect width="100%" height="100%" fill="var(--page)"/>${svg.slice(head)}</svg>`
}

function styleOfDrawings(): string {
  const sheet = readFileSync(new URL('../assets/style.css', import.meta.url), 'utf8')
  const part = (from: string, to: string) => sheet.slice(sheet.indexOf(from), sheet.indexOf(to))
  const rules = part('.diagram {', '@media (max-width: 800px)').replace(
    /^\.diagram \{.*$/m,
    '.diagram { font: 12px var(--sans) }',
  )
  return part(':root {', '* { box-sizing') + rules
}
