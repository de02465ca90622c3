// Starts the page.
import './styles/tokens.css'
import './styles/base.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { language } from './i18n/language.svelte'
import { texts } from './state/texts.svelte'

const target = document.getElementById('app')
void texts.load()
await language.load()
void language.loadAll()
if (target) mount(App, { target })
