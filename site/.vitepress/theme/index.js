// The other theme loads its font from the network.
export { default } from 'vitepress/theme-without-fonts'
