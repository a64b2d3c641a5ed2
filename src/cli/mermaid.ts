// cli: a service as a state diagram of Mermaid.
import { graphOf } from '../inspector/diagram/graph.ts'
import type { JsonObject } from '../model/json/value.ts'

/** Whether a state was entered, or its transition of that index was taken. */
type IsTaken = (state: string, transition?: number) => boolean

/**
 * States get ids of their own, since Mermaid's may have no spaces; texts are written with Mermaid's references.
 * `isTaken`: what was not is marked.
 */
export function mermaidOf(definition: JsonObject, isTaken: IsTaken = () => true): string {
  const { states, edges, start } = graphOf(definition)
  const idOf = (state: string) => `s${states.findIndex(({ name }) => name === state)}`
  const never = states.filter(({ name }) => !isTaken(name)).map(({ name }) => idOf(name))
  const counts = new Map<string, number>()
  const edgeLines = edges.map(({ from, to, label }) => {
    const index = counts.get(from) ?? 0
    counts.set(from, index + 1)
    const shown = [label, isTaken(from, index) ? '' : NEVER].filter(Boolean).join(', ')
    return `  ${idOf(from)} --> ${idOf(to)}${shown && `: ${escaped(shown)}`}`
  })
  return [
    'stateDiagram-v2',
    ...states.map(({ name, title }) => `  state "${escaped(title)}" as ${idOf(name)}`),
    ...(start === null ? [] : [`  [*] --> ${idOf(start)}`]),
    ...edgeLines,
    ...states.filter(({ isEnd }) => isEnd).map(({ name }) => `  ${idOf(name)} --> [*]`),
    ...(never.length === 0 ? [] : ['  classDef never stroke-dasharray: 5 5', `  class ${never.join(', ')} never`]),
  ].join('\n')
}

const NEVER = 'never taken'

const escaped = (text: string) =>
  text.replace(/[^\p{L}\p{N} .,_/()+-]/gu, (character) => `#${character.codePointAt(0) ?? 0};`)
