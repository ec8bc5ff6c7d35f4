import{d as a,e as b,f as c}from"./chunk-ZB7Y7J3O.js";import"./chunk-M56E4MZU.js";import"./chunk-B4KSM7DW.js";import"./chunk-76PLT4LV.js";export{b as Entries,a as HistoryPage,c as idOf};
