import type { ComponentType } from 'react'
import { onDemand } from './ui/on-demand.tsx'

export interface PageRoute {
  /** The path, below /console. Paths of environments begin with `/env/:environment`. */
  readonly path: string
  readonly component: ComponentType
  /** The name in the navigation. Pages without one are reached from others. */
  readonly name?: string
}

/** The pages of the console. Each page is loaded when it is opened. */
export const routes: readonly PageRoute[] = [
  { path: '/env/:environment/today', name: 'Today', component: onDemand(() => import('./today/today-page.tsx')) },
  { path: '/env/:environment/live', name: 'Live', component: onDemand(() => import('./live/live-page.tsx')) },
  {
    path: '/env/:environment/battle-pass/:scenarioId?/:nodeId?',
    name: 'Battle pass',
    component: onDemand(() => import('./battlepass/battle-pass-page.tsx')),
  },
  { path: '/env/:environment/boosts', name: 'Boosts', component: onDemand(() => import('./boosts/boosts-page.tsx')) },
  {
    path: '/env/:environment/calendar',
    name: 'Calendar',
    component: onDemand(() => import('./calendar/calendar-page.tsx')),
  },
  {
    path: '/env/:environment/players',
    name: 'Players',
    component: onDemand(() => import('./players/players-page.tsx')),
  },
  {
    path: '/env/:environment/players/:playerId/:tab?',
    component: onDemand(() => import('./players/player-page.tsx')),
  },
  {
    path: '/env/:environment/segments',
    name: 'Segments',
    component: onDemand(() => import('./segments/segments-page.tsx')),
  },
  { path: '/env/:environment/grants', name: 'Grants', component: onDemand(() => import('./grants/grants-page.tsx')) },
  { path: '/env/:environment/grants/new', component: onDemand(() => import('./grants/new-grant-page.tsx')) },
  { path: '/env/:environment/grants/:jobId', component: onDemand(() => import('./grants/job-page.tsx')) },
  {
    path: '/env/:environment/scenarios',
    name: 'Designer',
    component: onDemand(() => import('./designer/scenarios-page.tsx')),
  },
  {
    path: '/env/:environment/scenarios/:scenarioId/:tab?',
    component: onDemand(() => import('./designer/scenario-page.tsx')),
  },
  {
    path: '/env/:environment/providers',
    name: 'Providers',
    component: onDemand(() => import('./providers/providers-page.tsx')),
  },
  {
    path: '/project/environments',
    name: 'Environments',
    component: onDemand(() => import('./project/environments-page.tsx')),
  },
  { path: '/project/keys', name: 'Keys', component: onDemand(() => import('./project/keys-page.tsx')) },
  {
    path: '/project/audit/:entryId?',
    name: 'Audit log',
    component: onDemand(() => import('./project/audit-page.tsx')),
  },
]

export const addressOf = (path: string, parameters: Readonly<Record<string, string>>): string =>
  path
    .split('/')
    .flatMap((part) => {
      if (!part.startsWith(':')) return part
      const value = parameters[part.slice(1).replace('?', '')]
      return value === undefined ? [] : encodeURIComponent(value)
    })
    .join('/')
