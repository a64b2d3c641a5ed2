// inspector/diagram: a drawing as a file of its own, which has the part of the style sheet that it needs.
import { readFileSync } from 'node:fs'
import { raw } from 'hono/html'
import type { Drawing } from './drawing.ts'
import { DiagramSvg } from './svg.tsx'

const MARKS = { hrefOf: (state: string) => `#${encodeURIComponent(state)}` }

/** An SVG document, light or dark as its viewer is. */
export const svgFileOf = (drawing: Drawing, label: string): string =>
  String(
    <DiagramSvg drawing={drawing} marks={MARKS} class="diagram" role="img" aria-label={label}>
      <style>{raw(styleOfDrawings())}</style>
      <rect width="100%" height="100%" fill="var(--page)" />
    </DiagramSvg>,
  )

function styleOfDrawings(): string {
  const sheet = readFileSync(new URL('../assets/style.css', import.meta.url), 'utf8')
  const part = (from: string, to: string) => sheet.slice(sheet.indexOf(from), sheet.indexOf(to))
  const rules = part('.diagram {', '@media (max-width: 800px)')
  return part(':root {', '* { box-sizing') + rules.replace(/^\.diagram \{.*$/m, '.diagram { font: 12px var(--sans) }')
}
