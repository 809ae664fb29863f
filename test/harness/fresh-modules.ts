import SchemaBuilder from '@pothos/core'
import { vi } from 'vitest'

/**
 * Makes the next imports load every module of the project again. The files of a worker share their modules: later files
 * load them again, too. Pothos stays loaded, and must accept the plugins of the schema a second time.
 */
export function resetModules(): void {
  SchemaBuilder.allowPluginReRegistration = true
  vi.resetModules()
}
