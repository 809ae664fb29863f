import SchemaBuilder from '@pothos/core'
import { vi } from 'vitest'

/**
 * Has the next imports load every module of ours anew. The files of a worker share their modules: those that run later
 * load them again, too, and Pothos, which stays, must take the plugins of the schema a second time.
 */
export function resetModules(): void {
  SchemaBuilder.allowPluginReRegistration = true
  vi.resetModules()
}
